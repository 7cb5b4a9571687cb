"""Objects of the API as they are: plain dicts. What every object has, read in one place."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

Json = Mapping[str, Any]
NamespacedName = tuple[str, str]


def namespaced_name(item: Json) -> NamespacedName:
    """For objects that have a namespace."""
    return item["metadata"]["namespace"], item["metadata"]["name"]


def version_of(item: Json) -> int:
    """Versions of one kind of object are numbers that grow."""
    return int(item["metadata"].get("resourceVersion") or 0)


def is_controlled_by(item: Json, uid: str | None) -> bool:
    owners = item["metadata"].get("ownerReferences") or ()
    return any(owner.get("controller") and owner.get("uid") == uid for owner in owners)


def seconds(timestamp: str | None, otherwise: float) -> float:
    """Since 1970; `otherwise` where there is no timestamp."""
    return datetime.fromisoformat(timestamp).timestamp() if timestamp else otherwise
