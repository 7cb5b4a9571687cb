"""Persists the network across a restart: the topology as described, and distances set by hand, as JSON."""

import json
from collections.abc import Iterator

from dovetail.cluster.state import Cluster
from dovetail.engine.state.memory import Remembered
from dovetail.model.network.topology import Topology

TOPOLOGY, DISTANCES = "topology", "distances"


def network_parts(cluster: Cluster) -> Iterator[Remembered]:
    def read_topology(text: str) -> None:
        topology = Topology.model_validate_json(text)
        if topology != cluster.topology.definition:
            cluster.set_topology(topology)

    def read_distances(text: str) -> None:
        for one, other, distance in json.loads(text):
            cluster.set_distance(one, other, distance)

    yield Remembered(TOPOLOGY, lambda _: _as_written(cluster.topology.definition), read_topology, periodic=False)
    yield Remembered(DISTANCES, lambda _: json.dumps(cluster.topology.distances.all()), read_distances, periodic=False)


def _as_written(topology: Topology) -> str:
    """As a user could have written it."""
    return topology.model_dump_json(exclude_unset=True, by_alias=True)
