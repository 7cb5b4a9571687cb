"""What to submit, from files or from the command line.

Guarantees: everything is checked here first, so that every mistake is named with its file and line; either all
workloads are returned or `Invalid` says everything that is wrong. What only the server can know, such as its profiles,
is mapped to file and line too (`located`). Sending is left to the commands.
"""

import re
import secrets
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.cli.terminal.files import COMMAND_LINE, field_path, located, read_each

if TYPE_CHECKING:
    from dovetail.model.text.complaint import Complaint
    from dovetail.model.workloads.workload import Workload


@dataclass(slots=True)
class WorkToSubmit:
    """Workloads, and the texts they were read from."""

    workloads: "list[Workload]" = field(default_factory=list)
    texts: dict[str, bytes] = field(default_factory=dict)

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
        return complaint if self.texts else replace(complaint, source=COMMAND_LINE)


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

    for source, workloads in read_each(sources, read, complaints):
        for workload in workloads:
            home = homes.setdefault((workload.namespace, workload.name), source)
            if home != source:
                words = f"{workload.name!r} is in {home} too; give one of them another name"
                complaints.append(Complaint(source, None, "name", words))
        found.workloads += workloads
    if complaints:
        raise Invalid(complaints)
    return found


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
