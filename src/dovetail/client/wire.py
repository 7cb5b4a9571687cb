"""How names and models are written for the server."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote


def segment(text: str, what: str) -> str:
    """One step of a path. `.` and `..` would be taken for steps by everything between here and the server."""
    if text in ("", ".", ".."):
        raise ValueError(f"{text!r} is not the name of a {what}")
    return quote(text, safe="")


def written(what: Any) -> Any:
    """Models as the fields they were given; the rest is sent as it is."""
    if isinstance(what, Mapping):
        return dict(what)
    if hasattr(what, "model_dump"):
        return what.model_dump(mode="json", exclude_unset=True)
    return [written(item) for item in what]
