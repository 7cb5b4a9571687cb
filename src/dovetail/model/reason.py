"""Explanations of decisions: outcomes, refusals, filter counts and scores, as stored and shown to users.

`FunnelStep`, `NodePoints` and `Explanation` are part of every decision. They never change: the type checker sees to
that (`Final`), as frozen dataclasses take three times as long to create.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from dovetail.model.resources import show_amount


class Outcome(StrEnum):
    """The outcome of a decision. Filters add reasons of their own, as strings."""

    PLACED = "placed"
    NO_AVAILABLE_NODES = "no_available_nodes"
    INSUFFICIENT_RESOURCES = "insufficient_resources"
    INVALID_STRATEGY = "invalid_strategy"
    BACKEND_UNAVAILABLE = "backend_unavailable"
    OVER_QUOTA = "over_quota"
    PREEMPTING = "preempting"
    LANE_KEPT = "lane_kept"
    DEPENDENCY = "dependency"
    CONCURRENCY = "concurrency"  # as many of its tasks run as it allows itself
    GROUP_INCOMPLETE = "group_incomplete"  # it starts together with others that cannot start yet
    RETRY_DELAYED = "retry_delayed"  # the pause after a failure
    WAITS_FOR_CHEAPER = "waits_for_cheaper"  # it has time to wait for nodes that cost less


#: Other tasks, or time, keep work with these outcomes waiting: no change of nodes would help.
_WAITS_FOR_OTHERS = frozenset(
    {
        Outcome.DEPENDENCY,
        Outcome.PREEMPTING,
        Outcome.LANE_KEPT,
        Outcome.CONCURRENCY,
        Outcome.GROUP_INCOMPLETE,
        Outcome.RETRY_DELAYED,
        Outcome.WAITS_FOR_CHEAPER,
    }
)


def waits_for_others(reason: str) -> bool:
    """Whether work waits until other tasks end or are preempted, so that suggestions about it would mislead."""
    return reason in _WAITS_FOR_OTHERS


class Eviction(StrEnum):
    """Could evicting other work help?"""

    HELPS = "helps"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Refused:
    """Why one filter refuses one node."""

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
    """How many nodes passed a filter, and why the others did not."""

    filter: Final[str]
    remaining: Final[int]
    reason: Final[str]


@dataclass(slots=True)
class NodePoints:
    """One candidate: its unweighted scores (in the order of `Explanation.weights`) and the weighted total."""

    node: Final[str]
    total: Final[float]
    points: Final[tuple[float, ...]]
    load: Final[float]


@dataclass(frozen=True, slots=True)
class Shortage:
    """What is missing if nothing fits: the smallest shortage among the nodes that passed the other filters."""

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
    """Everything that explains one decision. Tasks that ask for the same share one: it never changes."""

    outcome: Final[str]
    message: Final[str]
    profile: Final[str]
    nodes: Final[int]
    funnel: Final[tuple[FunnelStep, ...]]
    weights: Final[tuple[tuple[str, float], ...]] = ()
    best: Final[tuple[NodePoints, ...]] = ()
    shortages: Final[tuple[Shortage, ...]] = ()
    eviction: Final[Eviction] = Eviction.NEVER
    notes: Final[tuple[str, ...]] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """As the API returns it."""
        nested = {name: [_fields(one) for one in getattr(self, name)] for name in ("funnel", "best", "shortages")}
        return explanation_dict(_fields(self) | nested)

    def with_notes(self, *notes: str, words: str = "") -> "Explanation":
        """A copy with more notes, and more words in its message. Written out for speed: called for every task with a
        GPU."""
        return Explanation(
            *(self.outcome, self.message + words, self.profile, self.nodes, self.funnel, self.weights, self.best),
            *(self.shortages, self.eviction, (*self.notes, *notes)),
        )


def _fields(one: "Explanation | FunnelStep | NodePoints | Shortage") -> dict[str, Any]:
    """As `asdict` of the standard library, which copies everything below, too, and takes ten times as long."""
    return {name: getattr(one, name) for name in one.__slots__}


def explanation_dict(raw: dict[str, Any]) -> dict[str, Any]:
    """The same from the plain fields that the store keeps. Explanations are written far more often than read, so they
    are formatted when read."""
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
