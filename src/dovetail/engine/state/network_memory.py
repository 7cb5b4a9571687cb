"""What a restart needs to know of the network: the topology as it was described, and distances set by hand, as JSON."""

import json
from collections.abc import Mapping

from dovetail.cluster.state import Cluster
from dovetail.model.network.topology import Topology

TOPOLOGY, DISTANCES = "topology", "distances"


def remembered(cluster: Cluster, what: str) -> str:
    """One of the two."""
    if what == TOPOLOGY:
        return written(cluster.topology.definition)
    return json.dumps(cluster.topology.distances.all())


def recall(cluster: Cluster, memory: Mapping[str, str]) -> None:
    """The inverse."""
    if TOPOLOGY in memory:
        topology = Topology.model_validate_json(memory[TOPOLOGY])
        if topology != cluster.topology.definition:
            cluster.set_topology(topology)
    for one, other, distance in json.loads(memory.get(DISTANCES, "[]")):
        cluster.set_distance(one, other, distance)


def written(topology: Topology) -> str:
    """As somebody could have written it."""
    return topology.model_dump_json(exclude_unset=True, by_alias=True)
