"""What backends say of their nodes, and what people added to that: told apart, also after a restart.

A node is what its backend announces, with the labels and taints that people have set on top. When the backend announces
it again, what it said before and does not say any more goes; what people added stays. For that its last words are
remembered, durably and in one step with the node itself, so that what a backend withdraws while the control plane is
down is gone when it comes back.

Of a node whose backend's words nobody remembers (a database from before they were kept), everything stays.
"""

from collections.abc import Mapping

import orjson

from dovetail.cluster.state import Cluster
from dovetail.control.inbox import News
from dovetail.model.event import Event, NodeJoined, NodeLeft
from dovetail.model.node import Node
from dovetail.model.text.strict import Strict, shared
from dovetail.model.workloads.selection import Labels, Taint


class Announced(Strict):
    """What a backend said of a node that people may add to."""

    labels: Labels = shared({})
    taints: list[Taint] = shared([])


NOTHING = Announced()


class Announcements:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._last: dict[str, str] = {}  # by node, as JSON: there may be many, and few are looked at again

    def restore(self, last: Mapping[str, str]) -> None:
        self._last = dict(last)

    def heard(self, event: Event) -> News:
        """What a backend reports, as the engine is to hear it."""
        if isinstance(event, NodeLeft):
            self._last.pop(event.name, None)
        if not isinstance(event, NodeJoined):
            return News([event])
        node, known = event.node, event.node.name in self._cluster.rows
        before, now = self._last.get(node.name), _written(node)
        self._last[node.name] = now
        announced = [] if known and now == before else [(node.name, now)]
        if known:
            # What it says once more it does not withdraw: then there is nothing to look up, as after most restarts.
            last = NOTHING if before in (None, now) else Announced.model_validate_json(before)
            node = announced_again(node, self._cluster.node(node.name), last)
        return News([NodeJoined(node)], announced=announced)


def announced_again(announced: Node, stored: Node, before: Announced = NOTHING) -> Node:
    """A node that is known is announced: what its backend says wins; what it said `before` and says no more goes."""
    said = {(taint.key, taint.effect) for taint in announced.taints}
    withdrawn = set(before.taints)
    kept = [taint for taint in stored.taints if (taint.key, taint.effect) not in said and taint not in withdrawn]
    labels = {key: value for key, value in stored.labels.items() if (key, value) not in before.labels.items()}
    update = {"labels": {**labels, **announced.labels}, "taints": [*announced.taints, *kept]}
    return announced.model_copy(update=update)


def _written(node: Node) -> str:
    taints = [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in node.taints]
    return orjson.dumps({"labels": node.labels, "taints": taints}).decode()
