"""Agents on eight hosts measure a network whose delays and rates are known."""

import time
from itertools import combinations

import numpy as np
import pytest
from tests.e2e.network.conftest import DELAYS_MS, HOSTS, MBIT, SLOW_HOST, SLOW_MBIT
from tests.patience import wait_for
from tests.servers.fabric.cluster import FabricCluster

from dovetail.model.network.topology import DistanceWeights
from dovetail.network_measurement.measured_distance import measured_distances
from dovetail.responses.network import MeasuredDistance

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("fabric")]

PAIRS = list(combinations(sorted(HOSTS), 2))


def measured(cluster: FabricCluster) -> dict[tuple[str, str], MeasuredDistance]:
    return {(row["from"], row["to"]): row for row in cluster.client.measured_distances()["items"]}


def all_measured(cluster: FabricCluster) -> dict[tuple[str, str], MeasuredDistance] | None:
    found = measured(cluster)
    there = found.keys() == set(PAIRS) and all(row["rtt_us"] and row["mbps"] for row in found.values())
    return found if there else None


def test_measured_distances_order_the_pairs_as_the_network_was_built(cluster: FabricCluster) -> None:
    from scipy.stats import spearmanr  # takes two seconds, which every worker would wait for

    rtt_us = np.array([max(1000 * cluster.fabric.rtt_ms(*pair, DELAYS_MS), 50.0) for pair in PAIRS])
    mbps = np.array([float(SLOW_MBIT if SLOW_HOST in pair else MBIT) for pair in PAIRS])
    expected = measured_distances(rtt_us, np.zeros(len(PAIRS)), mbps, DistanceWeights())

    def orders() -> bool:
        found = all_measured(cluster)
        if found is None:
            return False
        order = spearmanr(expected, [found[pair]["distance"] for pair in PAIRS]).statistic
        by_rtt = spearmanr(rtt_us, [found[pair]["rtt_us"] or 0.0 for pair in PAIRS]).statistic
        print(f"Spearman {order:.3f} of distances, {by_rtt:.3f} of round-trip times")
        return bool(order >= 0.95 and by_rtt >= 0.95)

    wait_for(orders, "distances are in order", every_s=0.2)


def test_bandwidth_is_that_of_the_narrowest_link(cluster: FabricCluster) -> None:
    """What a wire carries depends on how busy this machine is, so it may take several trains."""

    def told_apart() -> bool:
        found = all_measured(cluster) or {}
        slow = [row["mbps"] or 0.0 for pair, row in found.items() if SLOW_HOST in pair]
        fast = [row["mbps"] or 0.0 for pair, row in found.items() if SLOW_HOST not in pair]
        print(f"slow {slow}, fast {fast}")
        as_slow = all(0.5 * SLOW_MBIT < mbps < 1.5 * SLOW_MBIT for mbps in slow)
        return bool(found) and as_slow and bool(np.median(fast) > 2 * SLOW_MBIT)

    wait_for(told_apart, "the slow cable is told from the others", every_s=1)


def test_a_changed_delay_shows_within_three_rounds(cluster: FabricCluster) -> None:
    wait_for(lambda: all_measured(cluster), "every pair is measured", every_s=0.2)
    before = cluster.client.distance("a1", "b1")
    cluster.fabric.set_wire("leaf-1", 21.0)
    reports: list[float] = []  # when each report of the pair came, from now on

    def shows() -> bool:
        found = cluster.client.distance("a1", "b1")["measured"]
        assert found is not None
        assert found["age_s"] is not None
        at = time.time() - found["age_s"]
        if not reports or at - reports[-1] > 0.5:
            reports.append(at)
        return found["rtt_us"] is not None and found["rtt_us"] > 40_000

    try:
        wait_for(shows, "the new delay is seen", every_s=0.05)
        # The first is from before the change, the second of a round that was under way.
        assert len(reports) - 2 <= 3, reports
        wait_for(lambda: cluster.client.distance("a1", "b1")["distance"] > before["distance"], every_s=0.1)
    finally:
        cluster.fabric.set_wire("leaf-1", DELAYS_MS["leaf-1"])


def test_loss_and_a_cut_wire_are_seen_and_the_way_back_too(cluster: FabricCluster) -> None:
    wait_for(lambda: all_measured(cluster), "every pair is measured", every_s=0.2)

    def between(one: str, other: str) -> MeasuredDistance:
        found = cluster.client.distance(one, other)["measured"]
        assert found is not None
        return found

    cluster.fabric.set_wire("leaf-4", DELAYS_MS["leaf-4"], loss=0.3)
    try:
        wait_for(lambda: (between("a1", "d1")["loss"] or 0.0) > 0.1, "packets are lost", every_s=0.2)
        # A probe that this busy machine answered too late counts as lost for a round.
        wait_for(lambda: not between("a1", "c1")["loss"], "nothing is lost where no wire loses", every_s=0.2)
        cluster.fabric.set_wire("leaf-4", loss=1.0)
        wait_for(lambda: between("a1", "d2")["rtt_us"] is None, "nothing comes through", every_s=0.2)
        assert between("a1", "d2")["distance"] == 100
    finally:
        cluster.fabric.set_wire("leaf-4", DELAYS_MS["leaf-4"])
    wait_for(lambda: all_measured(cluster), "the way is open again", every_s=0.2)


def test_latency_and_loss_are_kept_over_time(cluster: FabricCluster) -> None:
    """Real probes over a wire whose delay is known, and which loses packets for a while."""
    wait_for(lambda: all_measured(cluster), "every pair is measured", every_s=0.2)
    began = time.time()

    def latest(name: str) -> list[float]:
        found = cluster.client.distance_trends("a1", "d1", since_s=120, points=24)
        both = zip(found["times"], found["series"][name]["values"], strict=True)
        return [value for at, value in both if value is not None and at + found["step_s"] > began]

    expected_ms = cluster.fabric.rtt_ms("a1", "d1", DELAYS_MS)
    rtt = wait_for(lambda: latest("rtt"), "it is recorded", every_s=0.2)
    assert min(rtt) > 0.8 * expected_ms, (rtt, expected_ms)

    def about_right() -> bool:  # a busy machine adds to it for a while
        print(f"round-trip times {latest('rtt')}, expected {expected_ms}")
        return any(value < 3 * expected_ms + 20 for value in latest("rtt"))

    wait_for(about_right, "it is about what the wires make it", every_s=1)
    cluster.fabric.set_wire("leaf-4", DELAYS_MS["leaf-4"], loss=0.3)
    try:
        wait_for(lambda: any(loss > 0 for loss in latest("loss")), "what is lost is recorded", every_s=0.2)
    finally:
        cluster.fabric.set_wire("leaf-4", DELAYS_MS["leaf-4"])
    wait_for(lambda: all_measured(cluster), "the way is open again", every_s=0.2)
    whole = cluster.client.distance_trends("a1", "d1", since_s=86_400)
    values = whole["series"]["rtt"]["values"]
    assert whole["step_s"] == 600
    assert values[0] is None, "nobody measured a day ago: gaps stay gaps"
    assert values[-1] is not None or values[-2] is not None


def test_levels_are_discovered_as_the_switches_are_built_and_can_be_accepted(cluster: FabricCluster) -> None:
    wait_for(lambda: all_measured(cluster), "every pair is measured", every_s=0.2)
    built = {frozenset(host for host in HOSTS if HOSTS[host] == leaf) for leaf in HOSTS.values()}

    def found_leaves() -> bool:
        levels = cluster.client.discovered_topology()["levels"]
        return bool(levels) and {frozenset(one["nodes"]) for one in levels[-1]["domains"]} == built

    cluster.fabric.limit_rate(SLOW_HOST, MBIT)
    try:
        wait_for(found_leaves, "the leaves are found", every_s=0.5)
        cluster.client.set_topology(cluster.client.discovered_topology()["definition"])
        assert cluster.client.distance("a1", "a2")["level"] == "leaf"
        assert cluster.client.distance("a1", "a2")["source"] == "measured"
    finally:
        cluster.client.forget_topology()
        cluster.fabric.limit_rate(SLOW_HOST, SLOW_MBIT)


def test_a_node_that_is_described_in_the_wrong_leaf_is_an_alert(cluster: FabricCluster) -> None:
    wait_for(lambda: all_measured(cluster), "every pair is measured", every_s=0.2)
    wrong = {"east": ["a1", "a2", "b1", "d2"], "west": ["c1", "c2", "d1"]}
    described = {"levels": [{"name": "side"}], "domains": {"side": wrong}}
    cluster.client.set_topology(described)
    try:
        (found,) = wait_for(lambda: cluster.client.topology()["contradictions"], "the alert", every_s=0.2)
        assert found.startswith("d2 is described in side east but measures like west: ")
        assert found in cluster.server.http.get("/health").json()["detail"]
    finally:
        cluster.client.forget_topology()
    wait_for(lambda: not cluster.client.topology()["contradictions"], "the alert ends", every_s=0.2)


def test_what_was_measured_counts_at_once_after_a_restart_of_the_server(cluster: FabricCluster) -> None:
    wait_for(lambda: all_measured(cluster), "every pair is measured", every_s=0.2)
    assert cluster.server.stop() == 0
    for agent in cluster.agents.values():
        agent.kill()
    cluster.server.start()
    found = wait_for(lambda: measured(cluster), "it knows the pairs again", every_s=0.1)
    assert found.keys() == set(PAIRS)
    assert cluster.client.distance("a1", "d1")["source"] == "measured"
    for agent in cluster.agents.values():
        agent.start()
