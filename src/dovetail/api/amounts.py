"""Amounts as the API sends them: numbers in the unit people count in, which each entry names."""

from typing import Any

from dovetail.engine.questions.questions import NodeUse
from dovetail.model.resources import CPU, DISK, GPU, MEMORY

_UNITS = {CPU: "cores", MEMORY: "bytes", DISK: "bytes", GPU: "gpus"}
_THOUSANDTHS = (CPU, GPU)  # inside the program these are counted in thousandths


def number(resource: str, amount: int) -> float:
    return amount / 1000 if resource in _THOUSANDTHS else amount


def unit_of(resource: str) -> str:
    return _UNITS.get(resource, "pieces")


def share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def use_of(resource: str, allocated: int, capacity: int) -> dict[str, Any]:
    return {
        "unit": unit_of(resource),
        "capacity": number(resource, capacity),
        "allocated": number(resource, allocated),
        "share": share(allocated, capacity),
    }


def resources_of(use: NodeUse) -> dict[str, Any]:
    """Every resource that the node has or that is in use on it."""
    found = {}
    for resource in dict.fromkeys((*use.capacity, *use.allocated, *use.reserved, *use.observed)):
        capacity, allocated = use.capacity.get(resource, 0), use.allocated.get(resource, 0)
        reserved = use.reserved.get(resource, 0)
        found[resource] = use_of(resource, allocated, capacity) | {
            "reserved": number(resource, reserved),
            "observed": number(resource, use.observed.get(resource, 0)),
            "free": number(resource, max(0, capacity - allocated - reserved)),
        }
    return found
