"""Reads services: those of a file or request body, checked together; and tells them from workloads."""

from dovetail.model.services.service import Service
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.document import Document
from dovetail.model.text.reading import check_documents
from dovetail.model.workloads.reading import manifest_complaints, repeated_names

KIND = "service"


def is_service(document: Document) -> bool:
    return isinstance(document.data, dict) and document.data.get("kind") == KIND


def services_of(documents: list[Document], source: str) -> list[Service]:
    """A name may be used once in its namespace. Raises Invalid with everything that is wrong."""
    if not documents:
        raise Invalid([Complaint(source, None, "", "holds no service")])
    manifest_complaints(documents)
    complaints = repeated_names(documents)
    found: list[Service] = []
    try:
        found = check_documents(Service, documents)
    except Invalid as invalid:
        complaints += invalid.complaints
    if complaints:
        raise Invalid(sorted(complaints, key=lambda complaint: complaint.line or 0))
    return found
