"""Reads models from text, and reports all errors of a file at once, with their lines.

Guarantees: any text gives models or `Invalid`, no other exception. `read_as` reads any number of one model, `read_one`
exactly one (settings). `model.workloads.reading` reads submissions.
"""

from collections.abc import Iterable
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from dovetail.model.text.complaint import MAX_COMPLAINTS, Complaint, Invalid
from dovetail.model.text.document import MAX_BYTES, Document, read_documents
from dovetail.model.text.validation_errors import complaints_of

Model = TypeVar("Model", bound=BaseModel)


def check_documents(model: type[Model], documents: Iterable[Document]) -> list[Model]:
    """Validate each document. Raises Invalid with the complaints about all of them, up to about a hundred."""
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
    """All documents of the text; a list counts as one document for each item. Empty text has none."""
    documents = read_documents(text, source, max_bytes)
    return check_documents(model, [item for document in documents for item in document.items()])


def read_one(model: type[Model], text: str | bytes, source: str, max_bytes: int = MAX_BYTES) -> Model:
    return check_documents(model, [only_document(text, source, max_bytes)])[0]


def only_document(text: str | bytes, source: str, max_bytes: int = MAX_BYTES) -> Document:
    """Empty text counts as an empty mapping: all defaults."""
    documents = read_documents(text, source, max_bytes) or [Document({}, source)]
    if len(documents) > 1:
        words = "a second document begins here; this file holds one, without '---'"
        raise Invalid([Complaint(source, documents[1].line_of(()), "", words)])
    return documents[0]
