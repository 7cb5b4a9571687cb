"""Agents on eight hosts measure a network whose delays and rates are known."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import spearmanr
from tests.e2e.network.conftest import DELAYS_MS, HOSTS, SLOW_HOST, SLOW_MBIT
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
    found = wait_for(lambda: all_measured(cluster), "every pair is measured", every_s=0.2)
    rtt_us = np.array([max(1000 * cluster.fabric.rtt_ms(*pair, DELAYS_MS), 50.0) for pair in PAIRS])
    mbps = np.array([float(SLOW_MBIT if SLOW_HOST in pair else 1000) for pair in PAIRS])
    expected = measured_distances(rtt_us, np.zeros(len(PAIRS)), mbps, DistanceWeights())
    order = spearmanr(expected, [found[pair]["distance"] for pair in PAIRS]).statistic
    by_rtt = spearmanr(rtt_us, [found[pair]["rtt_us"] for pair in PAIRS]).statistic
    assert order >= 0.95, {pair: (round(float(far)), found[pair]) for pair, far in zip(PAIRS, expected, strict=True)}
    assert by_rtt >= 0.95
