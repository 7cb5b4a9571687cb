"""The nodes of machines: how they are described, which a backend has reported, and the events that make these what they
are now. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dovetail.backends.machines.provider import MachineType
from dovetail.model.event import Event, NodeHealthChanged, NodeJoined, NodeLeft
from dovetail.model.node import Node


@dataclass(slots=True)
class ReportedNodes:
    reported: dict[str, Node] = field(default_factory=dict)
    offline: dict[str, str] = field(default_factory=dict)  # why, by node

    def changes(self, there: Mapping[str, Node], avoided: Mapping[str, str]) -> Iterator[Event]:
        """`there`: all nodes now. `avoided`: those that take no work for a while, and why."""
        for name in [name for name in self.reported if name not in there]:
            del self.reported[name]
            self.offline.pop(name, None)
            yield NodeLeft(name, "its machine has ended, or is not offered any more")
        for name, node in there.items():
            if self.reported.get(name) != node:
                self.reported[name] = node
                self.offline.pop(name, None)  # a node that is announced is online
                yield NodeJoined(node)
        for name in there:
            why = avoided.get(name)
            if why is not None and self.offline.get(name) != why:
                self.offline[name] = why
                yield NodeHealthChanged(name, False, why)
            elif why is None and self.offline.pop(name, None) is not None:
                yield NodeHealthChanged(name, True, "")

    def forget(self, name: str) -> bool:
        """It has left, by an event of the caller's. False if it was not there."""
        self.offline.pop(name, None)
        return self.reported.pop(name, None) is not None


@dataclass(slots=True)
class NodeDescriptions:
    """The nodes of machines, made from their types; the same object until something about it changes."""

    backend: str
    _made: dict[str, tuple[tuple[MachineType, bool, str | None], Node]] = field(default_factory=dict)

    def of(self, name: str, kind: MachineType, running: bool, address: str | None) -> Node:
        made_from, known = (kind, running, address), self._made.get(name)
        if known is not None and known[0][0] is kind and known[0] == made_from:
            return known[1]
        update: dict[str, object] = {"name": name, "backend": self.backend, "address": address or kind.node.address}
        if kind.node.offer is not None:
            update["offer"] = kind.node.offer.model_copy(update={"running": running})
        node = kind.node.model_copy(update=update)
        self._made[name] = made_from, node
        return node
