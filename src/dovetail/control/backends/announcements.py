"""What backends say of nodes: which backend owns a node, and what it announced of it, apart from what people added.

Two backends may use one name for different machines; without an owner, work bound to one would be looked for at the
other. The first that announced a node owns it, as long as that backend is present; events of a second one about such a
node are ignored, and the clash is reported.

A node is what its backend announces plus the labels and taints that people set. When the backend announces it again,
labels and taints that it no longer names are removed; those of people stay. The last announcement is therefore stored,
in the same step as the node, so a label withdrawn while the control plane was down is removed when it comes back.

If no announcement is stored (an old database), everything stays.
"""

from collections.abc import Container, Mapping

import orjson
import structlog

from dovetail.control.loop.inbox import InboxEvents
from dovetail.engine.questions.node_questions import NodeQuestions
from dovetail.model.event import Event, NodeHealthChanged, NodeJoined, NodeLeft, NodeObserved
from dovetail.model.node import Node
from dovetail.model.text.strict import Strict, shared
from dovetail.model.workloads.selection import NodeLabels, Taint

log = structlog.get_logger()


class NodeOwners:
    """`present`: the backends of this control plane."""

    def __init__(self, nodes: NodeQuestions, present: Container[str]) -> None:
        self._nodes, self._present = nodes, present
        self._owners: dict[str, str] = {}  # by node; of those announced since the start
        self._clashes: dict[str, set[str]] = {}

    def accepts(self, backend: str, event: Event) -> bool:
        """Whether this backend may report the event. Also records who owns which node."""
        if isinstance(event, NodeJoined):
            node = event.node.name
        elif isinstance(event, NodeLeft | NodeHealthChanged | NodeObserved):
            node = event.name
        else:
            return True
        owner = self._owners.get(node) or self._nodes.backend_of(node)
        if owner is not None and owner != backend and owner in self._present:
            known = self._clashes.setdefault(backend, set())
            if node not in known:
                known.add(node)
                words = "a node of this name is another backend's; it is not used"
                log.error(words, node=node, backend=backend, owner=owner)
            return False
        self._clashes.get(backend, set()).discard(node)
        if isinstance(event, NodeLeft):
            self._owners.pop(node, None)
        elif isinstance(event, NodeJoined):
            self._owners[node] = backend
        return True

    def announced(self, node: str) -> bool:
        """Whether a backend has announced it since the start."""
        return node in self._owners

    def clashes(self, backend: str) -> list[str]:
        """Nodes of this backend that are not used because another backend owns the name."""
        return sorted(self._clashes.get(backend, ()))

    def forget(self, backend: str) -> None:
        self._owners = {node: owner for node, owner in self._owners.items() if owner != backend}
        self._clashes.pop(backend, None)


class Announced(Strict):
    """The part of an announcement that people may add to."""

    labels: NodeLabels = shared({})
    taints: list[Taint] = shared([])


NOTHING = Announced()


class Announcements:
    def __init__(self, nodes: NodeQuestions) -> None:
        self._nodes = nodes
        self._last: dict[str, str] = {}  # by node, as JSON: there are many, and few are read again

    def restore(self, last: Mapping[str, str]) -> None:
        self._last = dict(last)

    def heard(self, event: Event) -> InboxEvents:
        """A backend's event, as the engine should receive it."""
        if isinstance(event, NodeLeft):
            self._last.pop(event.name, None)
        if not isinstance(event, NodeJoined):
            return InboxEvents([event])
        node, known = event.node, event.node.name in self._nodes
        before, now = self._last.get(node.name), _written(node)
        self._last[node.name] = now
        announced = [] if known and now == before else [(node.name, now)]
        if known:
            # The same announcement withdraws nothing, as after most restarts: nothing to compare.
            last = NOTHING if before in (None, now) else Announced.model_validate_json(before)
            node = announced_again(node, self._nodes.definition(node.name), last)
        return InboxEvents([NodeJoined(node)], announced=announced)


def announced_again(announced: Node, stored: Node, before: Announced = NOTHING) -> Node:
    """A known node is announced again: the backend's values win; what it announced `before` and not now is removed."""
    said = {(taint.key, taint.effect) for taint in announced.taints}
    withdrawn = set(before.taints)
    kept = [taint for taint in stored.taints if (taint.key, taint.effect) not in said and taint not in withdrawn]
    labels = {key: value for key, value in stored.labels.items() if (key, value) not in before.labels.items()}
    update = {
        "labels": {**labels, **announced.labels},
        "taints": [*announced.taints, *kept],
        "inventory": announced.inventory or stored.inventory,  # what its agent found
    }
    return announced.model_copy(update=update)


def _written(node: Node) -> str:
    taints = [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in node.taints]
    return orjson.dumps({"labels": node.labels, "taints": taints}).decode()
