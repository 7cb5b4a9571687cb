"""Which nodes and backends the engine knows, by name: the questions that the control plane asks all the time.

Each answer is a lookup or one pass over the nodes, and a plain value. How full nodes are is told by `Questions`.
"""

from collections.abc import Iterable, KeysView

from dovetail.engine.events.node_loss import rows_in
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.node import Node


class NodeDirectory:
    """Methods that take the name of a node raise KeyError for one that is not there, unless they say otherwise."""

    def __init__(self, state: EngineState) -> None:
        self._state, self._cluster = state, state.cluster

    def __contains__(self, name: object) -> bool:
        return name in self._cluster.rows

    def __len__(self) -> int:
        return len(self._cluster.rows)

    @property
    def names(self) -> KeysView[str]:
        return self._cluster.rows.keys()

    def definition(self, name: str) -> Node:
        """The node with its labels, taints and capacity."""
        return self._cluster.node(name)

    def is_online(self, name: str) -> bool:
        return bool(self._cluster.online[self._cluster.rows[name]])

    def reason(self, name: str) -> str:
        """Why it is offline or cordoned; empty when it is neither."""
        return self._cluster.reason(name)

    def backend_of(self, name: str) -> str | None:
        """None for a node that is not there."""
        row = self._cluster.rows.get(name)
        return None if row is None else self._cluster.backend_names[self._cluster.backends[row]]

    def of_backend(self, backend: str) -> list[str]:
        cluster = self._cluster
        if backend not in cluster.backend_names:
            return []
        code = cluster.backend_names.index(backend)
        return [name for name, row in cluster.rows.items() if cluster.backends[row] == code]

    def in_domain(self, level: str, domain: str) -> list[str]:
        """The nodes of a domain; of the level `node`, the one of that name."""
        return [self._cluster.names[row] for row in rows_in(self._state, level, domain)]

    def task_count(self, names: Iterable[str]) -> int:
        """How many tasks hold these nodes."""
        return sum(len(self._cluster.placements.by_row[self._cluster.rows[name]]) for name in names)

    def backend_is_down(self, backend: str) -> bool:
        """Whether its nodes count as unavailable. False for a backend that has no nodes."""
        cluster = self._cluster
        return backend in cluster.backend_names and not cluster.backend_available[cluster.backend_names.index(backend)]
