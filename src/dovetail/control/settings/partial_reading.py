"""Reads a model from a document that may be wrong: every mistake, and a model of the rest.

Later checks, such as building plugins, need a model. With one made of what is right, they run in the same go.
Guarantees: a document without mistakes gives the model that it describes. What was left out because it is wrong causes
no complaint about what contains it.
"""

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from dovetail.model.text.complaint import Complaint
from dovetail.model.text.document import Document
from dovetail.model.text.location import Location
from dovetail.model.text.strict import AtField
from dovetail.model.text.validation_errors import complaints_of

_MOST_ROUNDS = 10

Model = TypeVar("Model", bound=BaseModel)
Path = tuple[str | int, ...]


def read_what_is_right(model: type[Model], document: Document) -> tuple[Model | None, list[Complaint]]:
    """The model without the fields that are wrong, None if too little is left; and all complaints."""
    data, complaints = copied(document.data), list[Complaint]()
    left_out: list[Path] = []
    for _ in range(_MOST_ROUNDS):
        try:
            return model.model_validate(data), complaints
        except ValidationError as error:
            paths = [_path(model, detail) for detail in error.errors(include_url=False)]
            told = zip(paths, complaints_of(error, model, document), strict=False)
            complaints += [one for path, one in told if not any(gone[: len(path)] == path for gone in left_out)]
            if not all(paths):
                return None, complaints
            left_out += paths
            for path in sorted(paths, key=str, reverse=True):  # of a list the last items first
                _remove(data, path)
    return None, complaints


def copied(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: copied(value) for key, value in data.items()}
    return [copied(item) for item in data] if isinstance(data, list) else data


def _path(model: type[BaseModel], detail: Any) -> Path:
    raised = detail.get("ctx", {}).get("error")
    return Location(model, detail["loc"]).path + (raised.path if isinstance(raised, AtField) else ())


def _remove(data: Any, path: Path) -> None:
    """The value at the path; where it is missing, what should contain it."""
    around: Any = None
    key: str | int = ""
    for part in path:
        inside = isinstance(data, dict) and part in data
        inside = inside or (isinstance(data, list) and isinstance(part, int) and part < len(data))
        if not inside:
            break
        around, key, data = data, part, data[part]
    if around is not None:
        del around[key]
