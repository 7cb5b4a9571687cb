"""What applying a definition would do to a service: nothing, scale it, change it in place, or replace its replicas."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NamedTuple

from dovetail.model.services.service import Service

#: Fields that no replica knows of: they take effect without replacing any.
IN_PLACE = frozenset({"replicas", "update", "autoscale", "health"})


class ApplyOutcome(StrEnum):
    CREATED = "created"
    UNCHANGED = "unchanged"
    CHANGED = "changed"  # in place
    REPLACED = "replaced"  # its replicas are


class FieldChange(NamedTuple):
    """`field` as a path, `run.image`; the values as JSON has them, None for what was not there."""

    field: str
    before: Any
    after: Any


def changes_between(before: Service, after: Service) -> list[FieldChange]:
    old, new = before.model_dump(mode="json"), after.model_dump(mode="json")
    return [change for name in new for change in _changes(name, old[name], new[name])]


def _changes(path: str, old: Any, new: Any) -> Iterator[FieldChange]:
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys([*old, *new]):
            yield from _changes(f"{path}.{name}", old.get(name), new.get(name))
    else:
        yield FieldChange(path, old, new)


def outcome_of(before: Service | None, after: Service) -> tuple[ApplyOutcome, list[FieldChange]]:
    if before is None:
        return ApplyOutcome.CREATED, []
    found = changes_between(before, after)
    if not found:
        return ApplyOutcome.UNCHANGED, []
    replaces = any(change.field.partition(".")[0] not in IN_PLACE for change in found)
    return ApplyOutcome.REPLACED if replaces else ApplyOutcome.CHANGED, found
