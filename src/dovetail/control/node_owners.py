"""Which backend a node belongs to: the first that announced it, as long as that backend is there.

Two backends that call different machines by one name would otherwise take them from each other: work that is bound to
one would be asked for at the other. What the second says of such a node is left out, and the clash is told.
"""

from collections.abc import Container

import structlog

from dovetail.engine.state.engine_state import EngineState
from dovetail.model.event import Event, NodeHealthChanged, NodeJoined, NodeLeft, NodeObserved

log = structlog.get_logger()


class NodeOwners:
    """`present` are the backends that are there."""

    def __init__(self, state: EngineState, present: Container[str]) -> None:
        self._state, self._present = state, present
        self._owners: dict[str, str] = {}  # by node; of those announced since the start
        self._clashes: dict[str, set[str]] = {}

    def accepts(self, backend: str, event: Event) -> bool:
        """Whether this backend may say that; notes who owns which node on the way."""
        if isinstance(event, NodeJoined):
            node = event.node.name
        elif isinstance(event, NodeLeft | NodeHealthChanged | NodeObserved):
            node = event.name
        else:
            return True
        owner = self._owners.get(node) or self._restored(node)
        if owner is not None and owner != backend and owner in self._present:
            self._note(backend, node, owner)
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
        """Nodes of this backend that cannot be used, because another has one of that name."""
        return sorted(self._clashes.get(backend, ()))

    def forget(self, backend: str) -> None:
        self._owners = {node: owner for node, owner in self._owners.items() if owner != backend}
        self._clashes.pop(backend, None)

    def _restored(self, node: str) -> str | None:
        cluster = self._state.cluster
        row = cluster.rows.get(node)
        return None if row is None else cluster.backend_names[cluster.backends[row]]

    def _note(self, backend: str, node: str, owner: str) -> None:
        known = self._clashes.setdefault(backend, set())
        if node not in known:
            known.add(node)
            words = "a node of this name is another backend's; it is not used"
            log.error(words, node=node, backend=backend, owner=owner)
