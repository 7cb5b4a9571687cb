"""What to submit, from files or from the command line.

Guarantees: every mistake is named with its file and line, all of them at once (`Invalid`). What only the server can
know, such as its profiles, is mapped to file and line too (`located`). What to ask of the server is left to the
commands.
"""

import os
import re
import secrets
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from dovetail.cli.terminal.failure import COMMAND_LINE
from dovetail.cli.terminal.files import field_path, located, read_each
from dovetail.cli.terminal.options import login
from dovetail.cli.terminal.progress import told_if_slow
from dovetail.model.text.listing import count

if TYPE_CHECKING:
    from dovetail.model.text.complaint import Complaint
    from dovetail.model.workloads.workload import Workload

MOST_UNCHECKED_BYTES = 2**16  # what is larger is checked here, not by the server while others wait

T = TypeVar("T")


class WorkToSubmit:
    """Work as it was written: files with their texts, or the fields that options in `source` gave."""

    def __init__(
        self,
        texts: dict[str, bytes] | None = None,
        fields: dict[str, Any] | None = None,
        source: str = COMMAND_LINE,
    ) -> None:
        self.texts = texts or {}
        self._fields = fields
        self._source = source

    @cached_property
    def workloads(self) -> "list[Workload]":
        """Checked here. Raises Invalid with everything that is wrong."""
        if self._fields is None:
            with told_if_slow(f"checking {count(len(self.texts), 'file')}"):
                return _checked(self.texts)
        from dovetail.model.workloads.reading import workloads_of_data

        return workloads_of_data(self._fields, self._source)

    def send(self, call: "Callable[[Any], T]") -> T:
        """What `call` returns for the work. It is sent as it was written, and checked here only if the server complains
        or does not answer: the model takes longer to import than the server to check."""
        written = self._as_written()
        if written is not None:
            from dovetail.client import ConnectError, DovetailError

            try:
                return call(written)
            except ConnectError:
                _ = self.workloads  # mistakes are better news than a server that is not there
                raise
            except DovetailError as error:
                if not error.complaints:
                    raise
        with self.located():
            return call(self.workloads)

    def _as_written(self) -> dict[str, Any] | bytes | None:
        """None for what should be checked here: it is large, or in no encoding that can be joined."""
        if "workloads" in vars(self):  # it was needed already
            return None
        if self._fields is not None:
            return self._fields
        try:
            texts = [text.decode() for text in self.texts.values()]
        except UnicodeDecodeError:
            return None
        whole = "\n---\n".join(texts).encode()
        return whole if len(whole) <= MOST_UNCHECKED_BYTES else None

    def located(self) -> AbstractContextManager[None]:
        """Complaints of the server about a workload become complaints about its file and line."""
        return located(self._locate)

    def _locate(self, complaint: "Complaint") -> "Complaint":
        from dovetail.model.text.document import read_documents

        name = complaint.source.removeprefix("workload ")
        for source, text in self.texts.items():
            for document in (item for whole in read_documents(text, source) for item in whole.items()):
                if isinstance(document.data, dict) and document.data.get("name") == name:
                    line = document.line_of(field_path(complaint.field))
                    return replace(complaint, source=source, line=line)
        return complaint if self.texts else replace(complaint, source=self._source)


def read_submission(sources: Sequence[str]) -> WorkToSubmit:
    """The texts of all sources, to be one submission. Raises Invalid where one cannot be read, with what is wrong in
    the others."""
    from dovetail.model.text.complaint import Complaint, Invalid

    unreadable: list[Complaint] = []
    read = read_each(sources, lambda text, _source: [text], unreadable)
    work = WorkToSubmit({source: text for source, texts in read for text in texts})
    for source, text in work.texts.items():
        if text.startswith(b"#!"):
            unreadable.append(Complaint(source, 1, "", f"is a script; leave out -f: dovetail submit {source}"))
    if unreadable:
        raise Invalid([*unreadable, *_mistakes_in(work)])
    return work


def _mistakes_in(work: WorkToSubmit) -> "list[Complaint]":
    from dovetail.model.text.complaint import Invalid

    try:
        _ = work.workloads
    except Invalid as invalid:
        return invalid.complaints
    return []


def _checked(texts: "dict[str, bytes]") -> "list[Workload]":
    """The workloads of all texts; each name appears once in its namespace."""
    from dovetail.model.text.complaint import Complaint, Invalid
    from dovetail.model.workloads.reading import read_workloads

    complaints: list[Complaint] = []
    found: list[Workload] = []
    homes: dict[tuple[str, str], str] = {}
    for source, text in texts.items():
        try:
            workloads = read_workloads(text, source)
        except Invalid as invalid:
            complaints += invalid.complaints
            continue
        for workload in workloads:
            home = homes.setdefault((workload.namespace, workload.name), source)
            if home != source:
                words = f"{workload.name!r} is in {home} too; give one of them another name"
                complaints.append(Complaint(source, None, "name", words))
        found += workloads
    if complaints:
        raise Invalid(complaints)
    return found


def described(fields: dict[str, Any], source: str = COMMAND_LINE) -> WorkToSubmit:
    """One workload from options; those that were not given are left to the defaults."""
    return WorkToSubmit(fields=_without_nothing(fields), source=source)


class CallerFields(TypedDict):
    user: str | None
    submit_dir: str | None


def caller() -> CallerFields:
    """Who submits, and from where: for workloads that do not say otherwise (`Client.submit`)."""
    folder: str | None
    try:
        folder = str(Path.cwd())
    except FileNotFoundError:  # it was removed meanwhile
        folder = None
    return {"user": os.environ.get("USER") or login() or None, "submit_dir": folder}


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
