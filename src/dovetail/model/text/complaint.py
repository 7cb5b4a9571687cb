"""Complaints: errors in user input, with the place, the field, the error and what would be accepted.

Guarantees: a complaint is one line; for an expression a few lines of detail follow. It echoes at most about 60
characters of input. Importing this module does not import Pydantic: a command shows the complaints of a server without
it. `validation_errors` makes complaints of Pydantic's errors.
"""

from dataclasses import dataclass
from typing import Any

MAX_LISTED = 20
MAX_COMPLAINTS = 100  # more do not help the user


@dataclass(frozen=True, slots=True)
class Complaint:
    """One error. `accepted`: the values the field accepts, if they can be listed. `detail`: lines to show below, such
    as the text with a caret."""

    source: str
    line: int | None
    field: str
    message: str
    accepted: tuple[str, ...] = ()
    detail: str = ""

    def __str__(self) -> str:
        place = f"{self.source}:{self.line}" if self.line is not None else self.source
        line = ": ".join(part for part in (place, self.field, self.message) if part)
        return "\n    ".join([line, *self.detail.splitlines()])

    def to_dict(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "line": self.line,
            "field": self.field,
            "message": self.message,
            "accepted": list(self.accepted),
        } | ({"detail": self.detail} if self.detail else {})


class Invalid(Exception):
    """The input is invalid; `complaints` lists all errors."""

    def __init__(self, complaints: list[Complaint]) -> None:
        super().__init__(complaints)
        self.complaints = complaints

    def __str__(self) -> str:
        shown_lines = [str(complaint) for complaint in self.complaints[:MAX_LISTED]]
        if len(self.complaints) > MAX_LISTED:
            shown_lines.append(f"… and {len(self.complaints) - MAX_LISTED} more; correct these first")
        return "\n".join(shown_lines)


def field_name(path: tuple[str | int, ...]) -> str:
    """A field path for users: `tolerations[0].effect`, `labels['a.b/c']`."""
    from dovetail.model.text.strict import shown

    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part.isascii() and part.replace("-", "_").isidentifier() and len(part) <= 60:
            text += f".{part}" if text else part
        else:
            text += f"[{shown(part)}]"
    return text
