"""Complaints made of Pydantic's errors.

Guarantees: each error becomes one complaint, up to a hundred. None shows a value under `env` or another secret.
`wording` has the sentences, `location` finds the place in the input.
"""

from pydantic import BaseModel, ValidationError

from dovetail.model.text.complaint import MAX_COMPLAINTS, Complaint, field_name
from dovetail.model.text.document import Document
from dovetail.model.text.location import Location
from dovetail.model.text.strict import AtField
from dovetail.model.text.wording import wording

MAX_MESSAGE = 1000
SECRET = frozenset({"env", "password", "secret", "secrets", "token", "tokens"})


def _without_secrets(path: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """A key under `env` may be a whole assignment, `TOKEN=abc`, so only plain names are shown."""
    hidden = False
    for index, part in enumerate(path):
        if hidden and isinstance(part, str) and not part.isidentifier():
            return path[:index]
        hidden = hidden or part in SECRET
    return path


def faults_in_words(error: ValidationError, model: type[BaseModel]) -> str:
    """All errors in one line, for a message about settings that have no line of their own."""
    return "; ".join(str(one) for one in complaints_of(error, model))


def complaints_of(
    error: ValidationError, model: type[BaseModel] | None = None, document: Document | None = None
) -> list[Complaint]:
    """The errors as complaints. `model`: the validated class (for its field names); `document`: the input."""
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
