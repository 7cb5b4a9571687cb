"""Spare nodes: in every domain of a level some nodes stay empty, so that a gang finds a replacement nearby.

An empty node becomes a spare if its domain has too few. It stays one until a recovery uses it or it is not ready any
more; meanwhile its capacity is reserved. Spares are not persisted: after a restart they are chosen again. Guarantees: a
domain never reserves all its nodes, and nodes outside the domains of the level are never spares.
"""

import numpy as np

from dovetail.cluster.network.domains import level_column
from dovetail.engine.state.engine_state import EngineState


def update_spares(state: EngineState) -> None:
    """Give every domain its number of spares, as far as it has empty nodes."""
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
        if not cluster.status.ready[row] or cluster.placements.by_row[row]:
            release_spare(state, name)
    codes = column.codes[:n]
    spare = np.zeros(n, dtype=np.bool_)
    spare[[cluster.rows[name] for name in recoveries.spares]] = True
    busy = {cluster.rows[held.node] for held in recoveries.held.values() if held.node in cluster.rows}
    for code in np.unique(codes[(codes > 0) & cluster.status.ready[:n]]).tolist():
        here = np.flatnonzero((codes == code) & cluster.status.ready[:n])
        missing = min(wanted.nodes, len(here) - 1) - int(spare[here].sum())
        for row in here[::-1].tolist():  # from the end: placement prefers the first of equal nodes
            if missing <= 0:
                break
            if not spare[row] and row not in busy and not cluster.placements.by_row[row]:
                free = np.maximum(cluster.resources.free[:, row], 0.0)
                recoveries.spares[cluster.names[row]] = free
                cluster.reserve(cluster.names[row], cluster.resources.amounts(free))
                missing -= 1


def release_spare(state: EngineState, name: str) -> None:
    """Make it an ordinary node again."""
    column = state.recoveries.spares.pop(name, None)
    if column is not None and name in state.cluster.rows:
        state.cluster.reserve(name, state.cluster.resources.amounts(column), -1)
        state.wake.dirty_rows.add(state.cluster.rows[name])
