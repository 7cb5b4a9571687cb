"""What is left of the bandwidth to every node is what is said of each two of them."""

from itertools import product

import numpy as np
import pytest

from dovetail.cluster.network.levels import headroom_from, path_between
from dovetail.cluster.state import Cluster
from dovetail.model.network.topology import Topology
from dovetail.model.node import Node
from dovetail.model.resources import Capacity

HOSTS = [f"n{s}{leaf}{i}" for s, leaf, i in product(range(2), range(2), range(2))]
LEVELS = Topology.model_validate(
    {
        "levels": [
            {"name": "spine", "bandwidth": "40Gbps"},
            {"name": "leaf", "bandwidth": "50Gbps"},
            {"name": "host", "bandwidth": "100Gbps"},
        ],
        # The last host is in no leaf: it hangs on its spine.
        "nodes": {
            host: {"spine": f"s{host[1]}"} | ({"leaf": f"l{host[1:3]}"} if host != HOSTS[-1] else {}) for host in HOSTS
        },
    }
)
GRAPH = Topology.model_validate(
    {
        "switches": ["a", "b", "c"],
        "links": [
            *({"from": host, "to": "ab"[int(host[1])], "bandwidth": "100Gbps", "latency": "1us"} for host in HOSTS),
            {"from": "a", "to": "c", "bandwidth": "100Gbps", "latency": "1us", "utilisation": 0.75},
            {"from": "b", "to": "c", "bandwidth": "100Gbps", "latency": "1us", "utilisation": 0.5},
        ],
    }
)


@pytest.mark.parametrize("topology", [LEVELS, GRAPH], ids=["levels", "graph"])
def test_headroom_to_all_is_that_of_each_pair(topology: Topology) -> None:
    cluster = Cluster()
    cluster.set_topology(topology)
    for host in HOSTS:
        cluster.join(Node(name=host, capacity=Capacity(cpu=4)))
    for one in range(cluster.width):
        found = headroom_from(cluster, one)
        for other in range(cluster.width):
            path = path_between(cluster, one, other)
            assert path is not None
            assert found[other] == path.headroom_mbps, (cluster.names[one], cluster.names[other])


def test_to_a_stranger_there_is_nothing() -> None:
    cluster = Cluster()
    cluster.set_topology(GRAPH)
    for host in (*HOSTS, "stranger"):
        cluster.join(Node(name=host, capacity=Capacity(cpu=4)))
    assert headroom_from(cluster, 0)[-1] == 0.0
    assert np.isinf(headroom_from(cluster, 0)[0])
