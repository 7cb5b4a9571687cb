"""Handlers for changes of the network: a new topology, distances set by hand.

They mark every node as changed, since distances and domains may differ anywhere. Running tasks stay where they are.
"""

from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.network_memory import DISTANCES, TOPOLOGY
from dovetail.model.command import Command
from dovetail.model.event import DistancesCleared, DistancesSet, TopologySet


def topology_set(state: EngineState, event: TopologySet, now: float) -> list[Command]:  # noqa: ARG001
    if event.topology != state.cluster.topology.definition:
        state.cluster.set_topology(event.topology)
        _changed(state, TOPOLOGY)
    return []


def distances_set(state: EngineState, event: DistancesSet, now: float) -> list[Command]:  # noqa: ARG001
    for one, other, distance in event.pairs:
        state.cluster.set_distance(one, other, distance)
    if event.pairs:
        _changed(state, DISTANCES)
    return []


def distances_cleared(state: EngineState, event: DistancesCleared, now: float) -> list[Command]:  # noqa: ARG001
    if len(state.cluster.topology.distances):
        state.cluster.clear_distances()
        _changed(state, DISTANCES)
    return []


def _changed(state: EngineState, what: str) -> None:
    state.changes.network[what] = None
    state.wake.dirty_rows.update(state.cluster.rows.values())
