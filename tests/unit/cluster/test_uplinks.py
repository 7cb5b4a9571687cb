"""What gangs hold of links up follows from where their tasks are; what is left decides who may join."""

from random import Random
from typing import Any

import numpy as np
import pytest
from tests.invariants import Violation, check_invariants
from tests.unit.cluster.bandwidth import reserve_bandwidth

from dovetail.cluster.network.levels import bandwidth_of, headroom_from, path_between
from dovetail.cluster.network.uplinks import (
    UplinkShortage,
    limited_uplinks,
    room_to_join,
    shortage_at,
    unlimited_levels,
)
from dovetail.cluster.state import Cluster
from dovetail.model.network.topology import Topology
from dovetail.model.node import Node
from dovetail.model.requests.task_identity import TaskIdentity
from dovetail.model.resources import Capacity
from dovetail.model.task import TaskId
from dovetail.model.workloads.roles import GROUP_LABEL

HOSTS = [f"n{number}" for number in range(6)]  # three in leaf a, two in leaf b; the last hangs on the spine
LEVELS: dict[str, Any] = {
    "levels": [
        {"name": "spine", "bandwidth": "10Gbps"},
        {"name": "leaf", "bandwidth": "3Gbps"},
        {"name": "host", "bandwidth": "2Gbps"},
    ],
    "domains": {"leaf": {"a": ["n0", "n1", "n2"], "b": ["n3", "n4"]}, "spine": {"s": ["a", "b", "n5"]}},
}
GRAPH: dict[str, Any] = {
    "switches": {"a": "leaf", "b": "leaf", "s": "spine"},
    "levels": [{"name": "spine"}, {"name": "leaf"}],
    "links": [
        *({"from": host, "to": "aaabbs"[at], "bandwidth": "2Gbps"} for at, host in enumerate(HOSTS)),
        {"from": "a", "to": "s", "bandwidth": "4Gbps", "utilisation": 0.25},
        {"from": "b", "to": "s", "bandwidth": "3Gbps"},
    ],
}
GANG = TaskIdentity("x", "train", bandwidth_mbps=1000)
BOTH = pytest.mark.parametrize("described", [LEVELS, GRAPH], ids=["levels", "graph"])


def cluster_of(described: dict[str, Any] | None = None) -> Cluster:
    cluster = Cluster()
    if described is not None:
        cluster.set_topology(Topology.model_validate(described))
    for host in HOSTS:
        cluster.join(Node(name=host, capacity=Capacity(cpu=8)))
    return cluster


def place(cluster: Cluster, *rows: int, identity: TaskIdentity = GANG, workload: int = 1) -> None:
    placed = len(cluster.placements.by_task)
    for number, row in enumerate(rows, placed):
        cluster.place(TaskId(workload, number), row, cluster.resources.vector({"cpu": 1000.0}), identity=identity)


def held(cluster: Cluster, level: str) -> list[float]:
    return [float(mbps) for mbps in bandwidth_of(cluster, level)[1][0 if level == "host" else 1 :]]


def joinable(cluster: Cluster, mbps: float = 1000, gang: TaskIdentity = GANG) -> str:
    found = room_to_join(cluster, gang.gang, mbps)
    return "".join("x" if one else "." for one in np.broadcast_to(found, cluster.width))


@BOTH
def test_each_task_counts_where_others_are_outside(described: dict[str, Any]) -> None:
    cluster = cluster_of(described)
    place(cluster, 0, 0, 1)
    assert (held(cluster, "leaf"), held(cluster, "host")) == ([0, 0], [2000, 1000, 0, 0, 0, 0])
    place(cluster, 3)
    assert (held(cluster, "leaf"), held(cluster, "host")) == ([3000, 1000], [2000, 1000, 0, 1000, 0, 0])
    assert held(cluster, "spine") == [0]
    check_invariants(cluster)


@BOTH
def test_a_node_in_no_leaf_is_outside_of_all_of_them(described: dict[str, Any]) -> None:
    cluster = cluster_of(described)
    place(cluster, 0, 5)
    assert (held(cluster, "leaf"), held(cluster, "host")) == ([1000, 0], [1000, 0, 0, 0, 0, 1000])


def test_the_parts_of_a_group_are_one_gang() -> None:
    cluster = cluster_of(LEVELS)
    parts = [
        TaskIdentity("x", name, labels=((GROUP_LABEL, "g"),), bandwidth_mbps=mbps)
        for name, mbps in (("p", 1), ("q", 5))
    ]
    place(cluster, 0, identity=parts[0])
    place(cluster, 3, 3, identity=parts[1], workload=2)
    assert held(cluster, "leaf") == [1, 10]
    place(cluster, 4, identity=TaskIdentity("y", "p", labels=((GROUP_LABEL, "g"),), bandwidth_mbps=7), workload=3)
    assert held(cluster, "leaf") == [1, 10], "a group of that name in another namespace is another one"


def test_labels_that_change_take_what_is_held_along() -> None:
    cluster = cluster_of(LEVELS)
    place(cluster, 0, 1, 3)
    cluster.set_topology(Topology.model_validate(LEVELS | {"domains": {"leaf": {"a": ["n0", "n1", "n3"]}}}))
    assert held(cluster, "leaf") == [0, 0]
    cluster.set_topology(Topology())
    assert held(cluster, "host") == [1000, 1000, 0, 1000, 0, 0]
    check_invariants(cluster)


@BOTH
def test_who_joins_needs_room_on_his_own_links_and_may_need_some_on_those_of_the_others(described: Any) -> None:
    cluster = cluster_of(described)
    assert joinable(cluster, 99_999) == "xxxxxx", "the first has nobody to send to"
    place(cluster, 0, 1, 2)
    assert joinable(cluster) == "xxxxxx"
    place(cluster, 0)
    assert joinable(cluster) == ".xx...", "four would send out of leaf a, which carries three"
    assert shortage_at(cluster, GANG.gang, 1000, 3) == UplinkShortage("leaf", "a", 3000, 4000)
    assert shortage_at(cluster, GANG.gang, 1000, 0) == UplinkShortage("host", "n0", 0, 1000)


def test_a_gang_that_sends_out_already_needs_only_what_the_newcomer_sends() -> None:
    cluster = cluster_of(LEVELS)
    place(cluster, 0, 1, 3, 4)
    assert held(cluster, "leaf") == [2000, 2000]
    assert joinable(cluster) == "xxxxxx"
    place(cluster, 2)
    assert joinable(cluster) == "...xxx"
    assert shortage_at(cluster, GANG.gang, 1000, 1) == UplinkShortage("leaf", "a", 0, 1000)


def test_others_leave_what_they_do_not_hold() -> None:
    cluster = cluster_of(LEVELS)
    place(cluster, 0, 1, 3, identity=TaskIdentity("x", "other", bandwidth_mbps=1000), workload=9)
    place(cluster, 4)
    assert joinable(cluster, 1500) == "....xx", "of the link of n3 and those of leaf a others hold too much"


@pytest.mark.parametrize(("described", "levels"), [(LEVELS, []), (GRAPH, []), (None, ["host"])])
def test_only_links_that_are_described_set_a_limit(described: Any, levels: list[str]) -> None:
    assert unlimited_levels(cluster_of(described)) == levels


def test_a_level_without_a_bandwidth_and_a_host_outside_the_graph_set_none() -> None:
    cluster = cluster_of(LEVELS | {"levels": [{"name": "spine"}, {"name": "leaf", "bandwidth": "1Gbps"}]})
    assert [uplinks.level for uplinks in limited_uplinks(cluster)] == ["leaf"]
    assert unlimited_levels(cluster) == ["spine", "host"]
    stranger = cluster_of(GRAPH)
    stranger.join(Node(name="stranger", capacity=Capacity(cpu=8)))
    assert np.isinf(limited_uplinks(stranger)[-1].left_mbps).tolist() == [False] * 6 + [True]


@BOTH
def test_the_way_between_nodes_has_left_what_gangs_do_not_hold(described: dict[str, Any]) -> None:
    cluster = cluster_of(described)
    place(cluster, 0, 1, 3)
    for one in range(cluster.width):
        found = headroom_from(cluster, one)
        for other in range(cluster.width):
            path = path_between(cluster, one, other)
            assert path is not None
            assert found[other] == path.headroom_mbps, (one, other)
    assert headroom_from(cluster, 0)[1] == 1000, "their own links"
    assert headroom_from(cluster, 2)[4] == 1000, "what is left of the links up from leaf a"


def test_invariants_notice_what_is_held_wrongly() -> None:
    cluster = cluster_of(LEVELS)
    place(cluster, 0, 3)
    check_invariants(cluster)
    reserve_bandwidth(cluster, "leaf", 1, 500)
    check_invariants(cluster)
    reserve_bandwidth(cluster, "leaf", 1, -700)
    with pytest.raises(Violation, match="less is held of leaf uplinks"):
        check_invariants(cluster)


@pytest.mark.parametrize("seed", range(10))
def test_whatever_comes_and_goes_and_is_tried_what_is_held_follows(seed: int) -> None:
    chance = Random(seed)
    cluster = cluster_of(chance.choice((LEVELS, GRAPH)))
    identities = [TaskIdentity("x", f"w{number}", bandwidth_mbps=chance.choice((1, 10, 100))) for number in range(3)]
    for number in range(60):
        tasks = sorted(cluster.placements.by_task)
        if tasks and chance.random() < 0.4:
            cluster.remove(chance.choice(tasks))
        else:
            of = chance.randrange(3)
            column = cluster.resources.vector({"cpu": 10.0})
            cluster.place(TaskId(of, number), chance.randrange(6), column, identity=identities[of])
        before = [held(cluster, level) for level in ("spine", "leaf", "host")]
        with cluster.trial():
            for task in sorted(cluster.placements.by_task)[::2]:
                cluster.remove(task)
            check_invariants(cluster)
        if chance.random() < 0.1:
            cluster.set_topology(Topology.model_validate(chance.choice((LEVELS, GRAPH))))
        else:
            assert [held(cluster, level) for level in ("spine", "leaf", "host")] == before
        check_invariants(cluster)
