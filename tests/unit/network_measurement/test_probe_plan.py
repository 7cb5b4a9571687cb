"""Who probes whom, and what it costs."""

import pytest

from dovetail.network_measurement.probe_plan import PlanLimits, probe_peers, round_bytes, round_s

LIMITS = PlanLimits(all_pairs_up_to=10, peers=8, landmarks=2, in_domain=3)


def test_in_a_small_cluster_every_pair_is_probed_once_and_the_work_is_shared() -> None:
    nodes = [f"n{place}" for place in range(9)]
    peers = probe_peers(nodes, {}, LIMITS)
    pairs = [frozenset((node, peer)) for node, others in peers.items() for peer in others]
    assert len(pairs) == len(set(pairs)) == 9 * 8 // 2
    assert max(map(len, peers.values())) - min(map(len, peers.values())) <= 1


def test_in_a_large_cluster_each_probes_its_domain_the_landmarks_and_some_others() -> None:
    nodes = [f"n{place:03d}" for place in range(100)]
    domains = {node: f"leaf-{place // 10}" for place, node in enumerate(nodes)}
    peers = probe_peers(nodes, domains, LIMITS)
    common = [peer for peer in nodes if sum(peer in others for others in peers.values()) >= 98]
    assert len(common) == LIMITS.landmarks
    assert {len(others) for node, others in peers.items() if node not in common} == {LIMITS.peers}
    for node, others in peers.items():
        assert node not in others
        assert sum(domains[peer] == domains[node] for peer in others) >= LIMITS.in_domain


def test_the_same_nodes_give_the_same_plan_whatever_their_order() -> None:
    nodes = [f"n{place:03d}" for place in range(50)]
    assert probe_peers(nodes, {}, LIMITS, seed=3) == probe_peers(nodes[::-1], {}, LIMITS, seed=3)
    assert probe_peers(nodes, {}, LIMITS, seed=3) != probe_peers(nodes, {}, LIMITS, seed=4)


@pytest.mark.parametrize("nodes", [2, 200, 1000, 4000])
def test_a_round_is_long_enough_for_the_budget(nodes: int) -> None:
    peers = probe_peers([f"n{place}" for place in range(nodes)], {}, PlanLimits())
    cost = round_bytes(sum(map(len, peers.values())), packets=4, packet_bytes=64)
    assert cost / round_s(cost, 500_000.0, 10.0) <= 500_000.001
