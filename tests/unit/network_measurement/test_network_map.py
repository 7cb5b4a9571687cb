"""Distances of measured pairs, estimates of the others, and the error that is stated for them."""

import math

import numpy as np
from tests.unit.network_measurement.fabrics import three_levels

from dovetail.model.network.topology import DistanceWeights
from dovetail.network_measurement.measured_distance import measured_distances, steps_of_bandwidth
from dovetail.network_measurement.network_map import held_back, is_another, make_map
from dovetail.network_measurement.pair_history import SettledPair
from dovetail.network_measurement.probe_plan import PlanLimits, probe_peers

WEIGHTS = DistanceWeights()


def seeded() -> np.random.Generator:
    return np.random.default_rng(7)


def test_distance_weighs_latency_bandwidth_and_loss() -> None:
    rtt_us, loss, mbps = np.array([100.0, 200.0, 400.0]), np.zeros(3), np.array([1000.0, 1000.0, 100.0])
    near, middle, far = measured_distances(rtt_us, loss, mbps, WEIGHTS).tolist()
    assert far == 100.0
    assert math.isclose(near, 100 * 12.5 / (50 + 40 * 0.9))
    assert math.isclose(middle, 2 * near)
    lossy = measured_distances(rtt_us, np.array([0.0, 0.05, 0.0]), mbps, WEIGHTS)
    assert lossy[1] > middle


def test_a_little_loss_counts_little_and_equal_links_count_as_equal() -> None:
    rtt_us, mbps = np.full(3, 100.0), np.array([930.0, 1010.0, 1100.0])
    found = measured_distances(rtt_us, np.array([0.0, 0.0, 0.001]), mbps, WEIGHTS)
    assert found[0] == found[1]
    assert found[2] - found[0] < 2.1
    assert steps_of_bandwidth(np.array([90.0, 480.0, 9_400.0])).round().tolist() == [100.0, 500.0, 10_000.0]


def test_where_no_packet_comes_through_a_pair_is_as_far_as_can_be() -> None:
    pairs = {("a", "b"): SettledPair(100.0, 0.0, None), ("a", "c"): SettledPair(math.inf, 1.0, None)}
    found = make_map(pairs, WEIGHTS, seeded())
    assert found.distance[0, 2] == 100.0


def test_estimates_of_a_sampled_fabric_are_near_the_truth_and_their_error_is_stated() -> None:
    random = seeded()
    fabric = three_levels(300, 20, 5, random)
    peers = probe_peers(fabric.names, fabric.leaves, PlanLimits())
    pairs = [(node, peer) for node, others in peers.items() for peer in others]
    found = make_map(fabric.measured(pairs, 0.1, random), WEIGHTS, random)
    upper = np.triu_indices(len(fabric.names), 1)
    guessed = ~found.measured[upper]
    relative = (np.abs(found.rtt_us - fabric.rtt_us)[upper] / fabric.rtt_us[upper])[guessed]
    assert np.median(relative) < 0.12
    stated = found.error[upper][guessed] / found.distance[upper][guessed]
    assert (relative <= stated).mean() > 0.8
    assert (found.distance == found.distance.T).all()
    assert not found.error[upper][~guessed].any()


def test_small_differences_are_held_back_pair_by_pair() -> None:
    pairs = {("a", "b"): SettledPair(100.0, 0.0, None), ("a", "c"): SettledPair(400.0, 0.0, None)}
    before = make_map(pairs, WEIGHTS, seeded())
    pairs["a", "b"] = SettledPair(103.0, 0.0, None)
    same = held_back(before, make_map(pairs, WEIGHTS, seeded()), 1.0)
    assert not is_another(before, same)
    pairs["a", "d"] = SettledPair(100.0, 0.0, None)
    assert is_another(same, held_back(same, make_map(pairs, WEIGHTS, seeded()), 1.0)), "another node"
    del pairs["a", "d"]
    pairs["a", "b"] = SettledPair(130.0, 0.0, None)
    other = held_back(same, make_map(pairs, WEIGHTS, seeded()), 1.0)
    assert is_another(same, other)
    assert other.distance[0, 2] == before.distance[0, 2]
    assert is_another(None, before)
    assert not is_another(None, make_map({}, WEIGHTS, seeded()))


def test_estimates_that_a_new_fit_moves_a_little_stay_where_they_were() -> None:
    random = seeded()
    fabric = three_levels(60, 10, 3, random)
    pairs = fabric.measured(fabric.all_pairs()[::4], 0.1, random)
    before = make_map(pairs, WEIGHTS, seeded())
    now = make_map(pairs, WEIGHTS, np.random.default_rng(8))
    assert is_another(before, now), "fitted from another start"
    moved = (held_back(before, now, 1.0).distance != before.distance)[~before.measured]
    assert moved.mean() < 0.5 * (now.distance != before.distance)[~before.measured].mean()
