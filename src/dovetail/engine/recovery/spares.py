"""Spare nodes: in every domain of a level some nodes stay empty, so that a gang that loses one finds another nearby.

A node becomes a spare one when it is empty and its domain has too few, and is one until a recovery uses it or it is not
ready any more; what is free on it is taken out of it meanwhile. Not remembered: after a restart empty nodes are chosen
anew. Guarantees: a domain never gives all its nodes; nodes that are in no domain of the level give none.
"""

import numpy as np

from dovetail.cluster.network.domains import level_column
from dovetail.engine.state.engine_state import EngineState


def keep_spares(state: EngineState) -> None:
    """Choose and let go, so that every domain has as many as it should, as far as its nodes are empty."""
    wanted = state.settings.recovery.spares if state.settings.recovery.enabled else None
    if wanted is None:
        return
    cluster, recoveries = state.cluster, state.recoveries
    column = level_column(cluster, wanted.level)
    if column is None:
        return
    n = cluster.width
    for name in list(recoveries.spares):
        row = cluster.rows[name]
        if not cluster.ready[row] or cluster.placements.by_row[row]:
            release_spares(state, name)
    codes = column.codes[:n]
    spare = np.zeros(n, dtype=np.bool_)
    spare[[cluster.rows[name] for name in recoveries.spares]] = True
    busy = {cluster.rows[kept.node] for kept in recoveries.kept.values() if kept.node in cluster.rows}
    for code in np.unique(codes[(codes > 0) & cluster.ready[:n]]).tolist():
        here = np.flatnonzero((codes == code) & cluster.ready[:n])
        missing = min(wanted.nodes, len(here) - 1) - int(spare[here].sum())
        for row in here[::-1].tolist():  # the last ones: ties between nodes go to the first
            if missing <= 0:
                break
            if not spare[row] and row not in busy and not cluster.placements.by_row[row]:
                _keep(state, row)
                missing -= 1


def _keep(state: EngineState, row: int) -> None:
    cluster = state.cluster
    column = np.maximum(cluster.resources.free[:, row], 0.0)
    state.recoveries.spares[cluster.names[row]] = column
    cluster.reserve(cluster.names[row], cluster.resources.amounts(column))


def release_spares(state: EngineState, name: str) -> None:
    """It is an ordinary node again."""
    column = state.recoveries.spares.pop(name, None)
    if column is not None and name in state.cluster.rows:
        state.cluster.reserve(name, state.cluster.resources.amounts(column), -1)
        state.wake.dirty_rows.add(state.cluster.rows[name])
