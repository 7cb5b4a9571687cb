"""Reads a submission: the workloads of a file or request body, checked together, one for each role."""

from dovetail.model.text.complaint import MAX_COMPLAINTS, Complaint, Invalid, field_name
from dovetail.model.text.document import MAX_BYTES, Document, read_documents
from dovetail.model.text.reading import check_documents
from dovetail.model.text.strict import shown
from dovetail.model.workloads.roles import ROLE_LABEL
from dovetail.model.workloads.workload import DEFAULT_NAMESPACE, Gang, Workload


def read_workloads(text: str | bytes, source: str, max_bytes: int = MAX_BYTES) -> list[Workload]:
    """The workloads of a file or a request's body."""
    documents = read_documents(text, source, max_bytes)
    return workloads_of([item for document in documents for item in document.items()], source)


def workloads_of_data(data: object, source: str) -> list[Workload]:
    """The same for parsed data, such as a JSON request: the same complaints, without line numbers."""
    return workloads_of([] if data is None else Document(data, source).items(), source)


def workloads_of(documents: list[Document], source: str) -> list[Workload]:
    """The workloads of one submission. A name may be used once in its namespace."""
    if not documents:
        raise Invalid([Complaint(source, None, "", "holds no workload")])
    manifest_complaints(documents)
    if services := [document for document in documents if _is_service(document)]:
        words = "is a service; dovetail apply -f FILE makes it and keeps it up (POST /api/v1/services)"
        raise Invalid([Complaint(one.source, one.line_of(("kind",)), "kind", words) for one in services])
    complaints = repeated_names(documents)
    try:
        workloads = check_documents(Workload, documents)
    except Invalid as invalid:
        complaints += invalid.complaints
    if complaints:
        raise Invalid(sorted(complaints, key=lambda complaint: complaint.line or 0))
    return [one for workload in workloads for one in by_role(workload)]


def by_role(spec: Workload) -> list[Workload]:
    """One workload for each role, in order of rank; without roles, the workload itself."""
    if not spec.roles:
        return [spec]
    least = sum(role.replicas for role in spec.roles) if spec.gang is None else spec.gang.min
    found = []
    for role in spec.roles:
        given = {name: getattr(role, name) for name in role.model_fields_set - {"name", "labels"}}
        changed = {name: value for name, value in given.items() if value is not None}
        gang = Gang(min=least, group=spec.name, hold=spec.gang is None or spec.gang.hold)
        labels = {**spec.labels, **(role.labels or {}), ROLE_LABEL: role.name}
        own = {"name": f"{spec.name}-{role.name}", "roles": [], "labels": labels, "gang": gang}
        found.append(spec.model_copy(update=changed | own))
    return found


def _is_service(document: Document) -> bool:
    return isinstance(document.data, dict) and document.data.get("kind") == "service"


def manifest_complaints(documents: list[Document]) -> None:
    """Raises Invalid if any is an object of Kubernetes."""
    if manifests := [found for document in documents if (found := _manifest_complaint(document)) is not None]:
        raise Invalid(manifests[:MAX_COMPLAINTS])


def _manifest_complaint(document: Document) -> Complaint | None:
    """A complaint if it is an object of Kubernetes."""
    if not isinstance(document.data, dict) or not {"apiVersion", "kind"} <= document.data.keys():
        return None
    words = (
        f"is a Kubernetes manifest (kind {shown(document.data['kind'])}); write a workload: "
        "docs/reference/workload.md has its fields beside those of Kubernetes. To schedule pods of a cluster, see "
        "docs/kubernetes.md"
    )
    return Complaint(document.source, document.line_of(("apiVersion",)), field_name(document.at), words)


def repeated_names(documents: list[Document]) -> list[Complaint]:
    """Names are compared as written, so that duplicates are reported together with other errors."""
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
            words = f"{shown(name)} is used twice in namespace {shown(namespace)}, first {where}; give it another name"
            field = field_name(("name",) if line is not None else (*document.at, "name"))
            found.append(Complaint(document.source, line, field, words))
            if len(found) >= MAX_COMPLAINTS:
                break
    return found
