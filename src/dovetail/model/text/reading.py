"""From text to models: all that is wrong with a file is said at once, with its lines.

Guarantees: whatever the text, the outcome is models or `Invalid`; no other exception. `read_as` reads any number of
one model, `read_one` exactly one (settings). `model.workloads.reading` reads a submission.
"""

from collections.abc import Iterable
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from dovetail.model.text.complaint import MAX_COMPLAINTS, Complaint, Invalid, complaints_of
from dovetail.model.text.document import MAX_BYTES, Document, read_documents

Model = TypeVar("Model", bound=BaseModel)


def check_documents(model: type[Model], documents: Iterable[Document]) -> list[Model]:
    """Each document as the model. Raises with the complaints about all of them, or the first hundred or so."""
    found: list[Model] = []
    complaints: list[Complaint] = []
    for document in documents:
        try:
            found.append(model.model_validate(document.data))
        except ValidationError as error:
            complaints += complaints_of(error, model, document)
            if len(complaints) >= MAX_COMPLAINTS:
                break
    if complaints:
        raise Invalid(complaints)
    return found


def read_as(model: type[Model], text: str | bytes, source: str, max_bytes: int = MAX_BYTES) -> list[Model]:
    """Every document of the text, and every item of a document that is a list. An empty text holds none."""
    documents = read_documents(text, source, max_bytes)
    return check_documents(model, [item for document in documents for item in document.items()])


def read_one(model: type[Model], text: str | bytes, source: str, max_bytes: int = MAX_BYTES) -> Model:
    """The one document of the text. An empty text counts as an empty mapping: everything at its default."""
    documents = read_documents(text, source, max_bytes) or [Document({}, source)]
    if len(documents) > 1:
        words = "a second document begins here; this file holds one, without '---'"
        raise Invalid([Complaint(source, documents[1].line_of(()), "", words)])
    return check_documents(model, documents)[0]
