"""What nodes have and what is in use, as the API sends it: numbers in the unit that people use, and a node in words."""

from collections.abc import Sequence
from datetime import UTC, datetime

from dovetail.engine.questions.node_questions import GpuUse, NodeUse, Quarantine
from dovetail.model.resources import CPU, DISK, GPU, MEMORY, SLOTS, show_amount
from dovetail.model.text.listing import count
from dovetail.model.text.quantity import show_bytes
from dovetail.responses.nodes import FailedPlacements, NodeQuarantine, NodeResource, ResourceUse

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


def quarantine_of(name: str, found: Quarantine | None) -> NodeQuarantine | None:
    if found is None:
        return None
    failures: list[FailedPlacements] = [
        {"workload": one.name, "times": one.times, "last_at": one.last_at, "reason": one.reason}
        for one in found.failing
    ]
    return {"since": found.since, "until": found.until, "failures": failures, "lift": f"dovetail uncordon {name}"}


def node_in_words(use: NodeUse, gpus: Sequence[GpuUse] = (), quarantine: NodeQuarantine | None = None) -> str:
    """One line a fact, one a GPU, as the first VM scheduler printed them."""
    why = f" ({use.reason})" if use.reason and quarantine is None else ""
    lines = [f"Node: {use.name}", f"Status: {use.status}{why}"]
    if quarantine is not None:
        lines += _quarantine_in_words(quarantine)
    lines.append(f"Backend: {use.backend}")
    for title, resource in (("CPU", CPU), ("Memory", MEMORY), ("Disk", DISK), ("GPU", GPU)):
        if resource != GPU or use.capacity.get(GPU):
            lines.append(f"{title}: {_used(use, resource)}")
    lines += map(_gpu_in_words, gpus)
    extended = sorted(name for name in use.capacity if name not in (CPU, MEMORY, DISK, GPU, SLOTS))
    lines += [f"{name}: {_used(use, name)}" for name in extended]
    slots = use.capacity.get(SLOTS, 0)
    lines.append(f"Running tasks: {use.tasks}{f' of at most {slots}' if slots else ''}")
    for title, amounts in (("Reserved", use.reserved), ("Measured use", use.observed)):
        if any(amounts.values()):
            shown = (f"{name} {show_amount(name, amount)}" for name, amount in amounts.items() if amount)
            lines.append(f"{title}: {', '.join(shown)}")
    if use.taints:
        lines.append(f"Taints: {', '.join(use.taints)}")
    if use.labels:
        lines.append(f"Labels: {', '.join(f'{key}={value}' for key, value in sorted(use.labels.items()))}")
    return "\n".join(lines) + "\n"


def _quarantine_in_words(found: NodeQuarantine) -> list[str]:
    """When it began and ends, how to end it now, and one line for each workload that failed there."""
    since, until = _moment(found["since"]), _moment(found["until"])
    return [
        f"Quarantine: since {since}, until {until}; {found['lift']} ends it now",
        *(f"  {_failures_in_words(one)}" for one in found["failures"]),
    ]


def _failures_in_words(one: FailedPlacements) -> str:
    times = count(one["times"], "attempt")
    return f"{times} of {one['workload']} failed, last at {_moment(one['last_at'])}: {one['reason']}"


def _moment(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _gpu_in_words(gpu: GpuUse) -> str:
    """`  gpu 3: H100, 80GiB, island 1, numa 0: 0.25 in use`"""
    device = gpu.device
    facts = [device.model or "unknown model", show_bytes(device.memory) if device.memory else ""]
    facts += [f"island {device.island}", "" if device.numa is None else f"numa {device.numa}", device.address or ""]
    return f"  gpu {gpu.slot}: {', '.join(filter(None, facts))}: {show_amount(GPU, gpu.used)} in use"


def _used(use: NodeUse, resource: str) -> str:
    capacity, allocated = use.capacity.get(resource, 0), use.allocated.get(resource, 0)
    share = f" ({allocated / capacity:.1%} used)" if capacity else ""
    if resource not in (MEMORY, DISK):
        return f"{show_amount(resource, allocated)}/{show_amount(resource, capacity)}{share}"
    # In the unit the node was described in: 32GB stays 32.0 GB, and 32GiB does not become 34.4 GB.
    unit, size = ("GiB", 2**30) if capacity % 2**20 == 0 else ("GB", 10**9)
    return f"{allocated / size:.1f} {unit}/{capacity / size:.1f} {unit}{share}"
