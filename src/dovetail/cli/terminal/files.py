"""Reading what a command was given: one file, or many with folders and standard input.

Guarantees: every mistake in several files is reported, each with its file and line; complaints of the server about what
was read get file and line too (`located`).
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.parameters import Option

if TYPE_CHECKING:
    from dovetail.model.text.complaint import Complaint

STDIN = "-"
SUFFIXES = (".yaml", ".yml", ".json")

Files = Annotated[
    list[str],
    Option("--file", "-f", metavar="FILE|DIR|-", help="A file, a folder of files, or - for standard input."),
]

T = TypeVar("T")
Reader = Callable[[bytes, str], list[T]]


def read_file(path: Path | str) -> bytes:
    """The content of one file, or of standard input. Raises Failure."""
    if str(path) == STDIN:
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise Failure(f"{path}: cannot be read: {error.strerror or error}", ExitCode.USAGE) from None


def read_all(sources: Sequence[str], read: Reader[T]) -> list[T]:
    """What `read` finds in all files. Raises Invalid with everything that is wrong."""
    from dovetail.model.text.complaint import Complaint, Invalid

    complaints: list[Complaint] = []
    found = [one for _, several in read_each(sources, read, complaints) for one in several]
    if complaints:
        raise Invalid(complaints)
    return found


def read_each(sources: Sequence[str], read: Reader[T], complaints: "list[Complaint]") -> Iterable[tuple[str, list[T]]]:
    """Each file with what `read` finds in it. Mistakes are added to `complaints`."""
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
        except Invalid as invalid:
            complaints.extend(invalid.complaints)


def _contents(given: str) -> Iterable[tuple[str, bytes]]:
    from dovetail.model.text.complaint import Complaint, Invalid

    if given == STDIN:
        yield "standard input", sys.stdin.buffer.read()
        return
    path = Path(given)
    if not path.is_dir():
        yield given, path.read_bytes()
        return
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in SUFFIXES and file.is_file())
    if not files:
        raise Invalid([Complaint(given, None, "", f"holds no file ending in {', '.join(SUFFIXES)}")])
    for file in files:
        yield str(file), file.read_bytes()


def as_in(source: str) -> "Callable[[Complaint], Complaint]":
    """For `located`: a file was sent as it is, so its lines are known."""

    def locate(complaint: "Complaint") -> "Complaint":
        from dataclasses import replace

        return replace(complaint, source=source)

    return locate


@contextmanager
def located(locate: "Callable[[Complaint], Complaint]") -> Iterator[None]:
    """Complaints of the server inside the block become complaints about a file and line, which `locate` finds."""
    from dovetail.client import DovetailError
    from dovetail.model.text.complaint import Invalid

    try:
        yield
    except DovetailError as error:
        if not error.complaints:
            raise
        raise Invalid([locate(complaint) for complaint in error.complaints]) from None


def field_path(field_name: str) -> tuple[str | int, ...]:
    """`after[0].workload` as a path: `("after", 0, "workload")`."""
    steps = re.findall(r"[^.\[\]]+", field_name)
    return tuple(int(step) if step.isdigit() else step for step in steps)
