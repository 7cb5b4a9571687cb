"""Which nodes a list holds and in which order: by name, by use, by health. Only the names: who asks describes a page of
them, which costs much more than ordering all.
"""

from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.engine.pieces import Pieces
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.resources import CPU, GPU, MEMORY

#: As `NodeUse.status` says them, the worst first.
STATUSES = ("offline", "backend down", "quarantined", "draining", "drained", "cordoned", "online")
#: What nodes can be sorted by; with `-` before it in descending order.
NODE_SORTS = ("name", "use", "health", "tasks", CPU, MEMORY, GPU)
AT_ONCE = 2000


class NodeOrder(NamedTuple):
    """`counts`: nodes by status, whatever statuses were asked for."""

    names: list[str]
    counts: dict[str, int]


def node_order(state: EngineState, search: str, statuses: Collection[str], sort: str) -> Pieces[NodeOrder]:
    """Nodes whose names contain `search`, upper or lower case, that have one of the statuses; none given: any."""
    cluster, wanted = state.cluster, search.lower()
    shares = _shares(state, sort.removeprefix("-"))
    counts: Counter[str] = Counter()
    found: list[tuple[float, str]] = []
    rows = list(cluster.rows.items())
    for first in range(0, len(rows), AT_ONCE):
        for name, row in rows[first : first + AT_ONCE]:
            if wanted and wanted not in name.lower():
                continue
            status = _status(state, name, row)
            counts[status] += 1
            if not statuses or status in statuses:
                by_health = sort.removeprefix("-") == "health"
                found.append((float(STATUSES.index(status)) if by_health else shares.item(row), name))
        yield
    found.sort(key=lambda one: one[1])
    if sort == "-name":
        found.reverse()
    found.sort(key=lambda one: one[0], reverse=sort.startswith("-"))
    return NodeOrder([name for _, name in found], {status: counts[status] for status in STATUSES})


def _shares(state: EngineState, sort: str) -> F8:
    """float64[node]: what the nodes are sorted by; equal for all where that is the name or the health."""
    cluster = state.cluster
    tables, n = cluster.resources, cluster.width
    if sort == "tasks":
        return np.array([len(tasks) for tasks in cluster.placements.by_row], dtype=np.float64)
    names = (CPU, MEMORY, GPU) if sort == "use" else (sort,) if sort in tables.index else ()
    found: F8 = np.zeros(n)
    for name in names:
        index = tables.index[name]
        np.maximum(found, tables.allocated[index, :n] * tables.inverse[index, :n], out=found)
    return found


def _status(state: EngineState, name: str, row: int) -> str:
    cluster = state.cluster
    if not cluster.status.online[row]:
        return "offline"
    if not cluster.status.backend_available[cluster.status.backends[row]]:
        return "backend down"
    if name in cluster.status.drained:
        return "draining" if cluster.placements.by_row[row] else "drained"
    if cluster.status.cordoned[row]:
        return "cordoned"
    return "quarantined" if name in cluster.status.quarantines else "online"
