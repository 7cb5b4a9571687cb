"""Amounts of resources as the API sends them: numbers in the unit that people use, with its name."""

from dovetail.engine.questions.node_questions import NodeUse
from dovetail.model.resources import CPU, DISK, GPU, MEMORY
from dovetail.responses.nodes import NodeResource, ResourceUse

_UNITS = {CPU: "cores", MEMORY: "bytes", DISK: "bytes", GPU: "gpus"}
_THOUSANDTHS = (CPU, GPU)  # the model counts these in thousandths


def number(resource: str, amount: int) -> float:
    return amount / 1000 if resource in _THOUSANDTHS else amount


def unit_of(resource: str) -> str:
    return _UNITS.get(resource, "pieces")


def use_of(resource: str, allocated: int, capacity: int) -> ResourceUse:
    return {
        "unit": unit_of(resource),
        "capacity": number(resource, capacity),
        "allocated": number(resource, allocated),
        "share": round(allocated / capacity, 4) if capacity else 0.0,
    }


def resources_of(use: NodeUse) -> dict[str, NodeResource]:
    """Every resource that the node has or that is in use on it."""
    found: dict[str, NodeResource] = {}
    for resource in dict.fromkeys((*use.capacity, *use.allocated, *use.reserved, *use.observed)):
        capacity, allocated = use.capacity.get(resource, 0), use.allocated.get(resource, 0)
        reserved = use.reserved.get(resource, 0)
        found[resource] = {
            **use_of(resource, allocated, capacity),
            "reserved": number(resource, reserved),
            "observed": number(resource, use.observed.get(resource, 0)),
            "free": number(resource, max(0, capacity - allocated - reserved)),
        }
    return found
