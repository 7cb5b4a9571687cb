"""Events of the engine as JSON, and back: `["TaskStarted", [12, 0], "12.0.1"]`, the fields in their order.

Guarantees: an event that was written is read as an equal one. What is derived (`Submitted.terms`) is left out and
derived again. Events too large to keep are written as `["Unrecorded", name]` and read as None: who plays them can say
so.
"""

from base64 import b64decode, b64encode
from dataclasses import fields
from functools import cache
from typing import Any, get_type_hints

import numpy as np
from pydantic import BaseModel, TypeAdapter

from dovetail.model import event as events
from dovetail.model.event import DistancesMeasured, Event, Submitted
from dovetail.model.record import spec_text
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Condition, Workload

UNRECORDED = "Unrecorded"
MOST_DISTANCES = 4 * 2**20  # bytes: a matrix of a thousand nodes
_PLAIN = frozenset({str, int, float, bool, type(None)})

#: By name, those that a control plane hears. Adapters of Kubernetes have three more, which are not recorded.
_RECORDED: dict[str, type[Event]] = {
    one.__name__: one
    for one in vars(events).values()
    if isinstance(one, type) and issubclass(one, Event) and one is not Event
}


def event_line(event: Event) -> list[Any]:
    """Plain data for JSON."""
    if isinstance(event, Submitted):
        return ["Submitted", event.workload, spec_text(event.spec), [[id_, str(c)] for id_, c in event.after]]
    if isinstance(event, DistancesMeasured):
        matrix = np.ascontiguousarray(event.distance, dtype=np.float32)
        if matrix.nbytes > MOST_DISTANCES:
            return [UNRECORDED, "DistancesMeasured"]
        return ["DistancesMeasured", list(event.names), b64encode(matrix.tobytes()).decode()]
    name = type(event).__name__
    return [name, *(_plain(getattr(event, field), name, field) for field in _field_names(name))]


def event_of(line: list[Any]) -> Event | None:
    """None for one that was not recorded. Raises ValueError for what is no event."""
    name, *values = line
    if name == UNRECORDED:
        return None
    if name == "Submitted":
        id_, spec, after = values
        return Submitted(id_, Workload.model_validate_json(spec), tuple((int(i), Condition(c)) for i, c in after))
    if name == "DistancesMeasured":
        names, data = values
        matrix = np.frombuffer(b64decode(data), dtype=np.float32).reshape(len(names), len(names))
        return DistancesMeasured(tuple(names), matrix)
    kind = _RECORDED.get(name)
    if kind is None:
        raise ValueError(f"{name!r} is no event of this version")
    readers = _adapters(name)
    return kind(*(adapter.validate_python(value) for adapter, value in zip(readers.values(), values, strict=True)))


def _plain(value: Any, kind: str, field: str) -> Any:
    """Most values are plain, or the id of a task: these are written without looking anything up."""
    if type(value) in _PLAIN:
        return value
    if type(value) is TaskId:
        return list(value)
    if isinstance(value, str):  # of an enumeration
        return str(value)
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_unset=True)
    return _adapters(kind)[field].dump_python(value, mode="json")


@cache
def _field_names(name: str) -> tuple[str, ...]:
    return tuple(one.name for one in fields(_RECORDED[name]))  # type: ignore[arg-type]


@cache
def _adapters(name: str) -> dict[str, TypeAdapter[Any]]:
    kind = _RECORDED[name]
    hints = get_type_hints(kind)
    return {one.name: TypeAdapter(hints[one.name]) for one in fields(kind)}  # type: ignore[arg-type]
