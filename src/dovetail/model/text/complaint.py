"""Complaints: errors in user input, with the place, the field, the error and what would be accepted.

Guarantees: a complaint is one line; for an expression a few lines of detail follow. It echoes at most about 60
characters of input, and nothing under `env` or another secret. Every Pydantic error becomes one complaint, up to a
hundred. `wording` has the sentences for Pydantic's errors, `location` finds the place in the input. Importing this
module does not import Pydantic: a command shows the complaints of a server without it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

    from dovetail.model.text.document import Document

MAX_LISTED = 20
MAX_COMPLAINTS = 100  # more do not help the user
MAX_MESSAGE = 1000
SECRET = frozenset({"env", "password", "secret", "secrets", "token", "tokens"})


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


def _without_secrets(path: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """A key under `env` may be a whole assignment, `TOKEN=abc`, so only plain names are shown."""
    hidden = False
    for index, part in enumerate(path):
        if hidden and isinstance(part, str) and not part.isidentifier():
            return path[:index]
        hidden = hidden or part in SECRET
    return path


def faults_in_words(error: "ValidationError", model: "type[BaseModel]") -> str:
    """All errors in one line, for a message about settings that have no line of their own."""
    return "; ".join(str(one) for one in complaints_of(error, model))


def complaints_of(
    error: "ValidationError", model: "type[BaseModel] | None" = None, document: "Document | None" = None
) -> list[Complaint]:
    """The errors as complaints. `model`: the validated class (for its field names); `document`: the input."""
    from dovetail.model.text.location import Location
    from dovetail.model.text.strict import AtField
    from dovetail.model.text.wording import wording

    found = []
    for detail in error.errors(include_url=False)[:MAX_COMPLAINTS]:
        location, about_key = Location(model, detail["loc"]), detail["loc"][-1:] == ("[key]",)
        raised = detail.get("ctx", {}).get("error")
        path = location.path + (raised.path if isinstance(raised, AtField) else ())
        secret = location.holds_secret or any(part in SECRET for part in path)
        message, accepted = wording(detail, location, secret=secret, about_key=about_key)
        message = message.replace("\n", " ")
        if len(message) > MAX_MESSAGE:
            message = message[: MAX_MESSAGE - 1] + "…"
        spoken = _without_secrets(path)
        if document is None:
            found.append(Complaint("", None, field_name(spoken), message, accepted))
            continue
        line = document.line_of(path)
        prefix = document.at if line is None else ()  # with a line, the list item is known
        found.append(Complaint(document.source, line, field_name(prefix + spoken), message, accepted))
    return found
