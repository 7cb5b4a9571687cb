"""How names and models are written for the server."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote


def segment(text: str, what: str) -> str:
    """One segment of a path. `.` and `..` are refused, because every proxy would resolve them as steps of the path."""
    if text in ("", ".", ".."):
        raise ValueError(f"{text!r} is not the name of a {what}")
    return quote(text, safe="")


def written(what: Any) -> Any:
    """A model as the fields that were set; a mapping as it is; a sequence item by item."""
    if isinstance(what, Mapping):
        return dict(what)
    if hasattr(what, "model_dump"):
        return what.model_dump(mode="json", exclude_unset=True)
    return [written(item) for item in what]
