"""What commands print for people: pure functions from an answer of the API to drawings, one module a noun.

Guarantees: no I/O and no clock (`now` is an argument). At 80 columns nothing important is cut off. Values come from
users and are shown as text, never interpreted as markup. `render.NOUN` imports its module when a command first draws
something.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dovetail.cli.render import (
        backends,
        batch,
        cloud,
        cluster,
        cost,
        cost_report,
        decision,
        description,
        events,
        fragmentation,
        measured_network,
        metal,
        nodes,
        overview,
        policies,
        profiles,
        queues,
        rebalancing,
        replicas,
        reservations,
        services,
        simulation,
        tokens,
        topology,
        traffic,
        usage,
        vms,
        what_if,
        workloads,
    )

__all__ = ["backends", "batch", "cluster", "decision", "description", "events", "fragmentation"]
__all__ += ["nodes", "policies", "profiles", "queues", "reservations", "simulation", "topology", "usage", "workloads"]
__all__ += ["cloud", "cost", "cost_report", "measured_network", "metal", "rebalancing", "replicas"]
__all__ += ["overview", "services", "tokens", "traffic", "vms", "what_if"]


def __getattr__(name: str) -> ModuleType:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
