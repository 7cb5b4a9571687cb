"""From text to models: what is wrong with a file is said at once, with its lines.

Guarantees: whatever the text, the outcome is models or `Invalid`; no other exception. `read_as` reads any number of
one model, `read_one` exactly one (settings), `read_workloads` a submission.
"""

from collections.abc import Iterable
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from dovetail.model.text.complaint import MAX_COMPLAINTS, Complaint, Invalid, complaints_of, field_name
from dovetail.model.text.document import MAX_BYTES, Document, read_documents
from dovetail.model.text.strict import shown
from dovetail.model.workloads.grouping import by_role
from dovetail.model.workloads.workload import DEFAULT_NAMESPACE, Workload

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


def read_workloads(text: str | bytes, source: str, max_bytes: int = MAX_BYTES) -> list[Workload]:
    """The workloads of a file or a request's body."""
    documents = read_documents(text, source, max_bytes)
    return workloads_of([item for document in documents for item in document.items()], source)


def workloads_of_data(data: object, source: str) -> list[Workload]:
    """The same for data that was parsed elsewhere, such as the JSON of a request: no lines, the same complaints."""
    return workloads_of([] if data is None else Document(data, source).items(), source)


def workloads_of(documents: list[Document], source: str) -> list[Workload]:
    """The workloads of one submission, in which each name stands once in its namespace."""
    if not documents:
        raise Invalid([Complaint(source, None, "", "holds no workload")])
    complaints = _duplicates(documents)
    try:
        workloads = check_documents(Workload, documents)
    except Invalid as invalid:
        complaints += invalid.complaints
    if complaints:
        raise Invalid(sorted(complaints, key=lambda complaint: complaint.line or 0))
    return [one for workload in workloads for one in by_role(workload)]


def _duplicates(documents: list[Document]) -> list[Complaint]:
    """Names are compared as written, so that a duplicate is said along with whatever else is wrong."""
    found: list[Complaint] = []
    first: dict[tuple[str, str], Document] = {}
    for document in documents:
        if not isinstance(document.data, dict):
            continue
        namespace, name = document.data.get("namespace", DEFAULT_NAMESPACE), document.data.get("name")
        if not isinstance(namespace, str) or not isinstance(name, str):
            continue
        earlier = first.setdefault((namespace, name), document)
        if earlier is not document:
            line = document.line_of(("name",))
            where = f"in line {earlier.line_of(('name',))}" if line is not None else f"as {field_name(earlier.at)}"
            words = f"{shown(name)} stands twice in namespace {shown(namespace)}, first {where}; give it another name"
            field = field_name(("name",) if line is not None else (*document.at, "name"))
            found.append(Complaint(document.source, line, field, words))
            if len(found) >= MAX_COMPLAINTS:
                break
    return found
