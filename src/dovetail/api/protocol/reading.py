"""From the bytes of a body to models: pure functions, which run in this process or in a reader (`readers`).

Guarantees: whatever the bytes, the outcome is models, or Invalid with everything that is wrong. JSON is parsed
strictly: no NaN, no infinity, no key twice, UTF-8 only, and nesting is bounded. Expressions are parsed and checked too,
so that the caller finds them in the parser's cache.
"""

import json
from collections.abc import Sequence
from typing import TypeVar

import orjson
from pydantic import BaseModel

from dovetail.constraints.expression_complaints import expression_complaints, problems_of_policy
from dovetail.model.policy import Policy
from dovetail.model.services.reading import services_of
from dovetail.model.services.service import Service
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.document import Document, read_documents
from dovetail.model.text.reading import check_documents
from dovetail.model.text.strict import shown
from dovetail.model.workloads.reading import workloads_of
from dovetail.model.workloads.workload import TaskTemplate, Workload

Model = TypeVar("Model", bound=BaseModel)

SOURCE = "request body"
JSON, YAML = "application/json", "application/yaml"
MAX_YAML_VALUES = 250_000  # the line of each is known, which takes memory


def read_workloads(content: bytes, media_type: str, max_bytes: int, most: int) -> list[Workload]:
    """One workload, a list of them, or `{"workloads": […]}`; at most so many."""
    found = workloads_of(_items(content, media_type, max_bytes, most, "workloads"), SOURCE)
    _check_expressions(found, "workload")
    return found


def read_services(content: bytes, media_type: str, max_bytes: int, most: int) -> list[Service]:
    """One service, a list of them, or `{"services": […]}`; at most so many."""
    found = services_of(_items(content, media_type, max_bytes, most, "services"), SOURCE)
    _check_expressions(found, "service")
    return found


def _items(content: bytes, media_type: str, max_bytes: int, most: int, what: str) -> list[Document]:
    """One, a list of them, or a mapping with such a list under `what`."""
    documents = _documents(content, media_type, max_bytes)
    items = [item for document in documents for item in _unwrapped(document, what).items()]
    if len(items) > most:
        words = f"holds {len(items)} {what}; the most at once is {most}: split the submission"
        raise Invalid([Complaint(SOURCE, None, "", words)])
    return items


def _check_expressions(specs: Sequence[TaskTemplate], what: str) -> None:
    if complaints := [one for spec in specs for one in expression_complaints(spec, f"{what} {spec.name}")]:
        raise Invalid(complaints)


def read_model(
    content: bytes, media_type: str, max_bytes: int, model: type[Model], defaults: dict[str, object] | None
) -> Model:
    """Exactly one of the model. `defaults` fill in fields of a mapping that were left out; no body is `{}`."""
    documents = _documents(content, media_type, max_bytes)
    if len(documents) > 1:
        raise Invalid([Complaint(SOURCE, documents[1].line_of(()), "", "holds more than one document")])
    document = documents[0] if documents else Document({}, SOURCE)
    if isinstance(document.data, dict) and defaults:
        document = Document({**defaults, **document.data}, SOURCE, document.lines)
    found = check_documents(model, [document])[0]
    if isinstance(found, Policy) and (complaints := problems_of_policy(found)):
        raise Invalid(complaints)
    return found


def _documents(content: bytes, media_type: str, max_bytes: int) -> list[Document]:
    if not content.strip():
        return []
    return [_json(content)] if media_type == JSON else read_documents(content, SOURCE, max_bytes, MAX_YAML_VALUES)


def _json(content: bytes) -> Document:
    try:
        found = Document(orjson.loads(content), SOURCE)
        check_keys(content)  # orjson, the stricter one, takes the last of two
    except orjson.JSONDecodeError as error:
        words = f"is not JSON: {error.msg} (column {error.colno})"
        raise Invalid([Complaint(SOURCE, error.lineno, "", words)]) from None
    except RecursionError:
        raise Invalid([Complaint(SOURCE, None, "", "is nested too deeply")]) from None
    return found


def check_keys(content: bytes) -> None:
    """Raises Invalid where a mapping of the JSON has a key twice, and ValueError for what is no JSON."""
    json.loads(content, object_pairs_hook=_each_key_once)


def _each_key_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for place, key in enumerate(keys) if key in keys[:place])
        words = f"gives {shown(twice)} twice in one mapping; write it once"
        raise Invalid([Complaint(SOURCE, None, "", words)])
    return found


def _unwrapped(document: Document, wrapper: str) -> Document:
    data = document.data
    if isinstance(data, dict) and list(data) == [wrapper] and isinstance(data[wrapper], list):
        return Document(data[wrapper], document.source, document.lines, (*document.at, wrapper))
    return document
