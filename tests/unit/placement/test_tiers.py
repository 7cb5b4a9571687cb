"""Levels as domains inside domains: their order, their names, and what a missing label means."""

from dovetail.cluster.state import Cluster
from dovetail.model.node import Node
from dovetail.placement.gangs.tiers import TierTable, tiers_of


def cluster_of(*labels: dict[str, str]) -> Cluster:
    cluster = Cluster()
    for number, some in enumerate(labels):
        cluster.join(Node(name=f"n{number}", labels=some))
    return cluster


def levels(cluster: Cluster, *asked: str) -> list[str]:
    return [tier.level for tier in tiers_of(cluster, asked)]


def test_levels_come_widest_first_whatever_they_are_called() -> None:
    cluster = cluster_of(*({"island": f"i{n // 2}", "hall": f"h{n // 4}", "rack": f"r{n // 3}"} for n in range(12)))
    assert levels(cluster, "island", "hall") == ["", "hall", "rack", "island", "host"]


def test_a_few_nodes_without_a_label_do_not_make_its_level_look_narrow() -> None:
    wide = [{"spine": "s0", "rack": f"r{n // 2}"} for n in range(8)]
    cluster = cluster_of(*wide, *({"rack": "far"} for _ in range(8)))
    assert levels(cluster, "spine", "rack") == ["", "spine", "rack", "host"]


def test_racks_of_one_name_in_two_zones_are_two_domains() -> None:
    cluster = cluster_of(*({"topology.kubernetes.io/zone": zone, "rack": "r1"} for zone in ("a", "a", "b", "b")))
    tiers = tiers_of(cluster, ("rack",))
    assert tiers[tiers.at("rack")].count == 2


def test_a_level_that_nobody_asks_for_does_not_tear_apart_nodes_that_lack_its_label() -> None:
    cluster = cluster_of(*({"rack": "a"} for _ in range(3)), {"rack": "b", "spine": "s"})
    tiers = tiers_of(cluster, ("rack",))
    assert [tier.level for tier in tiers] == ["", "rack", "host"]
    assert tiers[1].count == 2


def test_one_label_under_two_names_is_one_tier() -> None:
    cluster = cluster_of(*({"topology.kubernetes.io/zone": f"z{n // 2}"} for n in range(4)))
    tiers = tiers_of(cluster, ("zone", "topology.kubernetes.io/zone"))
    assert len(tiers) == 3
    assert tiers.at("zone") == tiers.at("topology.kubernetes.io/zone") == 1
    assert tiers[1].level == "zone"


def test_at_a_level_that_no_node_carries_every_node_is_alone() -> None:
    tiers = tiers_of(cluster_of({"rack": "a"}, {"rack": "a"}), ("pod",))
    assert tiers.at("pod") == tiers.at("host") == tiers.at("node") == tiers.last
    assert not tiers.is_carried("pod")
    assert tiers.is_carried("host")


def test_domains_inside_a_domain_are_found() -> None:
    cluster = cluster_of(*({"spine": f"s{n // 4}", "rack": f"r{n // 2}"} for n in range(8)))
    tiers = tiers_of(cluster, ("spine", "rack"))
    assert [tiers[2].inside(spine).tolist() for spine in range(2)] == [[0, 1], [2, 3]]
    assert [int(tiers[2].first[rack]) for rack in range(4)] == [0, 2, 4, 6]


def test_tiers_are_kept_until_a_node_comes_or_goes() -> None:
    cluster = cluster_of({"rack": "a"}, {"rack": "b"})
    table = TierTable(cluster)
    before = table.of(("rack",))
    assert table.of(("rack",)) is before
    cluster.join(Node(name="new", labels={"rack": "c"}))
    assert table.of(("rack",))[1].count == 3


def test_an_empty_cluster_has_tiers_without_domains_to_go_to() -> None:
    assert levels(Cluster(), "rack") == ["", "host"]
