"""Which backend owns a node: the first that announced it, as long as that backend is present.

Two backends may use one name for different machines; without an owner, work bound to one would be looked for at the
other. Events of the second backend about such a node are ignored, and the clash is reported.
"""

from collections.abc import Container

import structlog

from dovetail.engine.questions.node_questions import NodeQuestions
from dovetail.model.event import Event, NodeHealthChanged, NodeJoined, NodeLeft, NodeObserved

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
        """Nodes of this backend that are not used because another backend owns the name."""
        return sorted(self._clashes.get(backend, ()))

    def forget(self, backend: str) -> None:
        self._owners = {node: owner for node, owner in self._owners.items() if owner != backend}
        self._clashes.pop(backend, None)

    def _note(self, backend: str, node: str, owner: str) -> None:
        known = self._clashes.setdefault(backend, set())
        if node not in known:
            known.add(node)
            words = "a node of this name is another backend's; it is not used"
            log.error(words, node=node, backend=backend, owner=owner)
