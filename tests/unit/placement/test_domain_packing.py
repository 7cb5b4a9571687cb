"""Small work fills up nodes and domains that are in use already, so that whole ones stay free."""

from typing import Any

from tests.unit.placement.scene import cluster_of, occupy, request_for, scored

from dovetail.cluster.state import Cluster
from dovetail.engine.engine import Engine
from dovetail.model.command import Bind
from dovetail.model.event import NodeJoined, Submitted, Tick
from dovetail.model.network.topology import Topology
from dovetail.model.node import Node
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload

GPUS: dict[str, Any] = {"cpu": 16, "memory": "64GiB", "gpu": 8, "slots": 20}


def of_labels(*labels: dict[str, str]) -> Cluster:
    return cluster_of(*({"capacity": GPUS, "labels": one} for one in labels))


def points(cluster: Cluster, **settings: Any) -> list[float]:
    return scored("domain_packing", cluster, request_for(cluster, resources={"gpu": 1}), **settings)


def test_points_are_the_share_of_gpus_in_use_in_the_narrowest_domain_that_nodes_share() -> None:
    cluster = of_labels(*({"spine": "s", "leaf": leaf, "rack": f"r{i}"} for i, leaf in enumerate("aabb")), {})
    occupy(cluster, 0, gpu=8)
    occupy(cluster, 2, TaskId(901, 0), gpu=2)
    assert points(cluster) == [0.5, 0.5, 0.125, 0.125, 0.0]  # every rack is a single node


def test_where_nobody_says_where_nodes_are_all_are_alike() -> None:
    cluster = of_labels({}, {"disk": "nvme"})
    occupy(cluster, 0, gpu=8)
    assert points(cluster) == [0.0, 0.0]


def test_levels_of_a_described_network_count_by_whatever_name() -> None:
    cluster = of_labels({}, {}, {})
    nodes = {"n0": {"ASW": "s1"}, "n1": {"ASW": "s1"}, "n2": {"ASW": "s2"}}
    cluster.set_topology(Topology.model_validate({"levels": [{"name": "ASW"}], "nodes": nodes}))
    occupy(cluster, 0, gpu=4)
    assert points(cluster) == [0.25, 0.25, 0.0]


def test_a_level_may_be_given() -> None:
    cluster = of_labels(*({"zone": "z", "leaf": leaf} for leaf in "aab"))
    occupy(cluster, 2, gpu=6)
    assert points(cluster, level="zone") == [0.25] * 3


def test_the_profile_keeps_whole_nodes_and_then_whole_domains_free() -> None:
    engine = Engine()
    for name, leaf in (("n0", "a"), ("n1", "a"), ("n2", "b"), ("n3", "b")):
        engine.handle(NodeJoined(Node.model_validate({"name": name, "capacity": GPUS, "labels": {"leaf": leaf}})), 0.0)
    placed = []
    for number, gpus in enumerate((4, 8, 4, 2)):
        fields = {"name": f"job-{number}", "resources": {"gpu": gpus}, "profile": "gpu_packing"}
        engine.handle(Submitted(number + 1, Workload.model_validate(fields), ()), 0.0)
        placed += [command.node for command in engine.handle(Tick(10), 0.0) if isinstance(command, Bind)]
    # The second takes the other node of the leaf that is in use, the third fills up the first, the last begins leaf b.
    assert placed == ["n0", "n1", "n0", "n2"]
