"""How many tasks links up allow in each domain, as the arrangement of a gang sees it."""

from typing import Any

import numpy as np
from tests.unit.cluster.bandwidth import reserve_bandwidth

from dovetail.cluster.state import Cluster
from dovetail.model.network.topology import Topology
from dovetail.model.node import Node
from dovetail.model.requests.asks import Layout
from dovetail.model.resources import Capacity
from dovetail.placement.gangs.arranger import Arranger
from dovetail.placement.gangs.tiers import UplinkCapacity, tiers_of


def cluster_of(labels: list[dict[str, str]], levels: list[dict[str, Any]]) -> Cluster:
    cluster = Cluster()
    cluster.set_topology(Topology.model_validate({"levels": levels}))
    for number, carried in enumerate(labels):
        cluster.join(Node(name=f"n{number}", capacity=Capacity(cpu=8), labels=carried))
    return cluster


def room(cluster: Cluster, mbps: int, asked: tuple[str, ...] = ()) -> tuple[UplinkCapacity, list[list[float]]]:
    found = UplinkCapacity(cluster, tiers_of(cluster, asked), mbps)
    return found, [tasks.tolist() for tasks in found.tasks]


INF = float("inf")
LEAVES = [{"leaf": "a"}, {"leaf": "a"}, {"leaf": "b"}, {}]


def test_tasks_are_counted_whole_and_where_nothing_is_known_there_is_no_end() -> None:
    cluster = cluster_of(LEAVES, [{"name": "leaf", "bandwidth": "1Gbps"}])
    found, tasks = room(cluster, 300)
    assert (found.is_whole, found.sets_limits) == (True, True)
    assert tasks == [[INF], [3, 3, INF], [INF] * 4], "everything; leaves, and a node in none; hosts"


def test_what_is_held_beyond_the_links_leaves_nothing() -> None:
    cluster = cluster_of(LEAVES, [{"name": "leaf", "bandwidth": "1Gbps"}])
    reserve_bandwidth(cluster, "leaf", 1, 1500)
    assert room(cluster, 300)[1][1] == [0, 3, INF]


def test_without_any_speeds_no_limit_is_set() -> None:
    cluster = cluster_of(LEAVES, [{"name": "leaf"}])
    assert not room(cluster, 300)[0].sets_limits


def test_domains_of_one_name_in_two_wider_ones_share_what_is_known_of_that_name() -> None:
    labels = [{"zone": "y", "rack": "r"}, {"zone": "z", "rack": "r"}, {"zone": "z", "rack": "q"}]
    cluster = cluster_of(labels, [{"name": "zone"}, {"name": "rack", "bandwidth": "1Gbps"}])
    assert room(cluster, 250)[1][2] == [2, 2, 4]


def test_a_level_that_the_arrangement_leaves_out_is_told() -> None:
    # Of leaf a, one node is in no zone: zones are left out, or the leaf would be torn apart.
    labels = [{"zone": "z", "leaf": "a"}, {"leaf": "a"}, {"zone": "z", "leaf": "b"}]
    cluster = cluster_of(labels, [{"name": "zone", "bandwidth": "1Gbps"}, {"name": "leaf", "bandwidth": "1Gbps"}])
    assert not room(cluster, 250, ("leaf",))[0].is_whole
    assert room(cluster, 250)[0].is_whole


def test_a_gang_that_fits_into_one_leaf_needs_no_link_of_it_though_a_wider_level_is_aimed_at() -> None:
    labels = [{"spine": "s", "leaf": leaf} for leaf in "aabb"]
    cluster = cluster_of(labels, [{"name": "spine"}, {"name": "leaf", "bandwidth": "1Gbps"}])
    tiers = tiers_of(cluster)
    allowed = UplinkCapacity(cluster, tiers, 600).tasks
    for strategy in ("", "spread"):
        layout = Layout(preferred="spine", strategy=strategy)
        arranger = Arranger(tiers, np.full(4, 2.0), 4, layout, allowed)
        assert arranger.tier_reached() == tiers.at("spine")
        assert len({int(tiers[tiers.at("leaf")].codes[row]) for row in arranger.arranged(1, 0).rows}) == 1
    assert Arranger(tiers, np.full(4, 2.0), 5, Layout(), allowed).unfit().most == 4
    assert Arranger(tiers, np.full(4, 2.0), 5, Layout(), allowed).tightest_uplink(0, 0) == (tiers.at("leaf"), 0)


def test_a_refused_gang_is_not_told_of_space_behind_links_that_carry_none_of_it() -> None:
    """Slices of four on a host: one has room for a whole slice, the other for the three tasks left over, but nothing
    can be sent out of its rack."""
    labels = [{"leaf": "l", "rack": "a"}, {"leaf": "l", "rack": "b"}]
    tiers = tiers_of(cluster_of(labels, [{"name": "leaf"}, {"name": "rack"}]))
    allowed = [np.full(tier.count, INF) for tier in tiers]
    allowed[tiers.at("rack")][1] = 0.0
    arranger = Arranger(tiers, np.array([4.0, 3.0]), 7, Layout(slices=((4, "host"),)), allowed)
    assert (arranger.tier_reached(), arranger.unfit().most) == (None, 4)
