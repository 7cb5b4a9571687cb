"""An incident of a scenario: something that happens to a node at a given moment.

One incident names one thing: `{at: 10m, fail: n-3}`. It becomes an event of the engine here; that tasks of a failed
node die is left to `replay`.
"""

from typing import Annotated, Self

from pydantic import Field, model_validator

from dovetail.model.event import Event, NodeCordoned, NodeDrained, NodeHealthChanged, NodeJoined, NodeLeft
from dovetail.model.node import Node
from dovetail.model.text.quantity import Duration
from dovetail.model.text.strict import NodeName, Strict

KINDS = ("fail", "repair", "cordon", "uncordon", "drain", "leave", "join")


class Incident(Strict):
    """`fail` takes a node offline and ends what it runs; `repair` brings it back; `leave` is for good."""

    at: Duration
    fail: NodeName | None = None
    repair: NodeName | None = None
    cordon: NodeName | None = None
    uncordon: NodeName | None = None
    drain: NodeName | None = None
    leave: NodeName | None = None
    join: Node | None = None
    reason: Annotated[str, Field(max_length=500)] = ""

    @model_validator(mode="after")
    def _one_thing(self) -> Self:
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(given) != 1:
            said = "nothing" if not given else " and ".join(given)
            raise ValueError(f"says {said}; an event names exactly one of {', '.join(KINDS)}")
        return self

    @property
    def kind(self) -> str:
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def node(self) -> str:
        """The name of the node it is about."""
        found = getattr(self, self.kind)
        return found.name if isinstance(found, Node) else str(found)

    def event(self) -> Event:
        reason = self.reason or f"scenario: {self.kind}"
        match self.kind:
            case "fail" | "repair":
                return NodeHealthChanged(self.node, self.kind == "repair", reason)
            case "cordon" | "uncordon":
                return NodeCordoned(self.node, self.kind == "cordon", reason)
            case "drain":
                return NodeDrained(self.node, reason)
            case "leave":
                return NodeLeft(self.node, reason)
        assert self.join is not None
        return NodeJoined(self.join)
