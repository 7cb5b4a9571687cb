"""What to submit, from files, folders, standard input or the command line.

Guarantees: everything is checked here first, so that every mistake is named with its file and line; either all
workloads are returned or `Invalid` says everything that is wrong. What only the server can know, such as its profiles,
is mapped to file and line too (`located`). Sending is left to the commands.
"""

import re
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

if TYPE_CHECKING:
    from dovetail.model.text.complaint import Complaint
    from dovetail.model.workloads.workload import Workload

STDIN = "-"
SUFFIXES = (".yaml", ".yml", ".json")
COMMAND_LINE = "command line"

Files = Annotated[
    list[str],
    typer.Option("--file", "-f", metavar="FILE|DIR|-", help="A file, a folder of files, or - for standard input."),
]

T = TypeVar("T")


@dataclass(slots=True)
class WorkToSubmit:
    """Workloads, and the texts they were read from."""

    workloads: "list[Workload]" = field(default_factory=list)
    texts: dict[str, bytes] = field(default_factory=dict)

    @contextmanager
    def located(self) -> Iterator[None]:
        """Turn complaints of the server about a workload into complaints about its file and line."""
        from dovetail.client import DovetailError
        from dovetail.model.text.complaint import Invalid

        try:
            yield
        except DovetailError as error:
            if not error.complaints:
                raise
            raise Invalid([self._locate(complaint) for complaint in error.complaints]) from None

    def _locate(self, complaint: "Complaint") -> "Complaint":
        from dovetail.model.text.document import read_documents

        name = complaint.source.removeprefix("workload ")
        for source, text in self.texts.items():
            for document in (item for whole in read_documents(text, source) for item in whole.items()):
                if isinstance(document.data, dict) and document.data.get("name") == name:
                    line = document.line_of(field_path(complaint.field))
                    return replace(complaint, source=source, line=line)
        given = COMMAND_LINE if not self.texts else complaint.source
        return replace(complaint, source=given)


def field_path(field_name: str) -> tuple[str | int, ...]:
    """`after[0].workload` as a path: `("after", 0, "workload")`."""
    steps = re.findall(r"[^.\[\]]+", field_name)
    return tuple(int(step) if step.isdigit() else step for step in steps)


def read_submission(sources: Sequence[str]) -> WorkToSubmit:
    """The workloads of all sources as one submission; each name appears once in its namespace."""
    from dovetail.model.text.complaint import Complaint, Invalid
    from dovetail.model.workloads.reading import read_workloads

    complaints: list[Complaint] = []
    found = WorkToSubmit()
    homes: dict[tuple[str, str], str] = {}

    def read(text: bytes, source: str) -> "list[Workload]":
        found.texts[source] = text
        return read_workloads(text, source)

    for source, workloads in read_all(sources, read, complaints):
        for workload in workloads:
            home = homes.setdefault((workload.namespace, workload.name), source)
            if home != source:
                words = f"{workload.name!r} is in {home} too; give one of them another name"
                complaints.append(Complaint(source, None, "name", words))
        found.workloads += workloads
    if complaints:
        raise Invalid(complaints)
    return found


def read_all(
    sources: Sequence[str], read: Callable[[bytes, str], list[T]], complaints: "list[Complaint]"
) -> Iterable[tuple[str, list[T]]]:
    """Each file with what `read` finds in it. Mistakes are added to `complaints`, so that all of them are reported."""
    from dovetail.model.text.complaint import Complaint, Invalid

    for given in sources:
        try:
            for source, content in _contents(given):
                try:
                    yield source, read(content, source)
                except Invalid as invalid:
                    complaints.extend(invalid.complaints)
        except OSError as error:
            words = f"cannot be read: {error.strerror or error}"
            complaints.append(Complaint(str(error.filename or given), None, "", words))
        except _NothingThere:
            words = f"holds no file ending in {', '.join(SUFFIXES)}"
            complaints.append(Complaint(given, None, "", words))


class _NothingThere(Exception):
    pass


def _contents(given: str) -> Iterable[tuple[str, bytes]]:
    if given == STDIN:
        yield "standard input", sys.stdin.buffer.read()
        return
    path = Path(given)
    if not path.is_dir():
        yield given, path.read_bytes()
        return
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in SUFFIXES and file.is_file())
    if not files:
        raise _NothingThere
    for file in files:
        yield str(file), file.read_bytes()


def described(fields: dict[str, Any]) -> WorkToSubmit:
    """One workload from options; those that were not given are left to the defaults."""
    from dovetail.model.workloads.reading import workloads_of_data

    return WorkToSubmit(workloads_of_data(_without_nothing(fields), COMMAND_LINE))


def _without_nothing(fields: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for name, value in fields.items():
        kept = _without_nothing(value) if isinstance(value, dict) else value
        if kept not in (None, {}, []):
            found[name] = kept
    return found


def made_up_name(command: Sequence[str]) -> str:
    """`/usr/bin/python3 train.py` becomes `python3-x7k2q`: the program, and something that makes it unique."""
    program = re.sub(r"[^a-z0-9]+", "-", Path(command[0]).name.lower()).strip("-")
    program = program if program[:1].isalpha() else f"run-{program}".rstrip("-")
    letters = "abcdefghijkmnpqrstuvwxyz23456789"  # without those that look alike
    return f"{program[:40].rstrip('-')}-{''.join(secrets.choice(letters) for _ in range(5))}"
