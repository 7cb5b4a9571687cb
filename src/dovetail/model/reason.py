"""Why: outcomes, refusals, funnels and scores, as stored with every decision and shown to people.

What every decision carries (`FunnelStep`, `NodePoints`, `Explanation`) is not frozen only because making frozen ones
takes three times as long; nobody writes to them.
"""

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from dovetail.model.resources import show_amount


class Outcome(StrEnum):
    """How a decision ended. Filters add their own reasons (strings) beside these."""

    PLACED = "placed"
    NO_AVAILABLE_NODES = "no_available_nodes"
    INSUFFICIENT_RESOURCES = "insufficient_resources"
    INVALID_STRATEGY = "invalid_strategy"
    BACKEND_UNAVAILABLE = "backend_unavailable"
    OVER_QUOTA = "over_quota"
    PREEMPTING = "preempting"
    LANE_KEPT = "lane_kept"
    DEPENDENCY = "dependency"


#: The rest of the world keeps work with these outcomes waiting: no change of nodes or of its own definition would help.
_WAITS_FOR_OTHERS = frozenset({Outcome.DEPENDENCY, Outcome.PREEMPTING, Outcome.LANE_KEPT})


def waits_for_others(reason: str) -> bool:
    """Whether work waits until other work ends or gives way, so that suggestions about it would mislead."""
    return reason in _WAITS_FOR_OTHERS


def waits_for_nodes(reason: str) -> bool:
    """Whether work waits for something that a node could offer, so that it helps to say what the nodes lack."""
    return reason != Outcome.OVER_QUOTA and reason not in _WAITS_FOR_OTHERS


class Eviction(StrEnum):
    """Could moving other work away help here?"""

    HELPS = "helps"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Refused:
    """One filter's word on one node."""

    filter: str
    reason: str
    message: str
    eviction: Eviction = Eviction.NEVER
    resource: str | None = None
    needed: float | None = None
    free: float | None = None

    def to_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "filter": self.filter,
            "reason": self.reason,
            "message": self.message,
            "eviction": str(self.eviction),
        }
        if self.resource is not None and self.needed is not None and self.free is not None:
            found |= {
                "resource": self.resource,
                "needed": show_amount(self.resource, self.needed),
                "free": show_amount(self.resource, self.free),
            }
        return found


@dataclass(slots=True)
class FunnelStep:
    """How many nodes a filter left over, and the reason it gives for the rest."""

    filter: str
    remaining: int
    reason: str


@dataclass(slots=True)
class NodePoints:
    """One candidate: unweighted points per score (in the order of `Explanation.weights`) and the weighted total."""

    node: str
    total: float
    points: tuple[float, ...]
    load: float


@dataclass(frozen=True, slots=True)
class Shortage:
    """What is short when nothing fits: the nearest miss over all nodes that passed the other filters."""

    resource: str
    needed: float
    best_free: float
    best_node: str

    @property
    def short_by(self) -> float:
        return max(0.0, self.needed - self.best_free)

    def to_dict(self) -> dict[str, Any]:
        return {
            "resource": self.resource,
            "needed": show_amount(self.resource, self.needed),
            "best_free": show_amount(self.resource, self.best_free),
            "best_node": self.best_node,
            "short_by": show_amount(self.resource, self.short_by),
        }


@dataclass(slots=True)
class Explanation:
    """Everything a person may ask of one decision."""

    outcome: str
    message: str
    profile: str
    nodes: int
    funnel: tuple[FunnelStep, ...]
    weights: tuple[tuple[str, float], ...] = ()
    best: tuple[NodePoints, ...] = ()
    shortages: tuple[Shortage, ...] = ()
    eviction: Eviction = Eviction.NEVER
    notes: tuple[str, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """As people and programs outside get it."""
        return explanation_dict(asdict(self))

    def with_note(self, note: str) -> "Explanation":
        """The same with one note more. Written out, since it is done for every task with a GPU."""
        return Explanation(
            *(self.outcome, self.message, self.profile, self.nodes, self.funnel, self.weights, self.best),
            *(self.shortages, self.eviction, (*self.notes, note)),
        )


def explanation_dict(raw: dict[str, Any]) -> dict[str, Any]:
    """The same from an explanation's plain fields, which is how the store keeps it: thousands are written for each one
    that is read, so the work of presenting it is done when it is read."""
    names = [name for name, _ in raw["weights"]]
    return {
        "outcome": str(raw["outcome"]),
        "message": raw["message"],
        "profile": raw["profile"],
        "nodes": raw["nodes"],
        "funnel": [dict(step) for step in raw["funnel"]],
        "weights": dict(raw["weights"]),
        "best": [
            {
                "node": line["node"],
                "total": round(line["total"], 4),
                "points": {name: round(points, 4) for name, points in zip(names, line["points"], strict=True)},
                "load": round(line["load"], 4),
            }
            for line in raw["best"]
        ],
        "shortages": [Shortage(**shortage).to_dict() for shortage in raw["shortages"]],
        "eviction": str(raw["eviction"]),
        "notes": list(raw["notes"]),
    }
