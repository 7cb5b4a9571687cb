"""Where measured use is going."""

import pytest

from dovetail.cluster.state import Cluster
from dovetail.cluster.usage_trend import AHEAD_S, LEAST_MEASUREMENTS
from dovetail.cluster.views.view import View
from dovetail.model.node import Node
from dovetail.model.resources import Capacity


def _cluster() -> Cluster:
    cluster = Cluster()
    for name in ("a", "b"):
        cluster.join(Node(name=name, capacity=Capacity(cpu=100)))
    return cluster


def _forecast(cluster: Cluster, name: str = "a") -> float:
    found = View(cluster).forecast("cpu")
    assert found is not None
    return float(found[cluster.rows[name]])


def _rising(cluster: Cluster, name: str, minutes: int, every_s: float, per_second: float) -> float:
    """Use that rises steadily; returns the last."""
    used = 0.0
    for step in range(int(minutes * 60 / every_s) + 1):
        used = 1000 + per_second * step * every_s
        cluster.observe(name, {"cpu": int(used)}, step * every_s)
    return used


def test_few_measurements_are_taken_as_they_are() -> None:
    cluster = _cluster()
    for step in range(LEAST_MEASUREMENTS - 1):
        cluster.observe("a", {"cpu": 1000 * step}, 60.0 * step)
        assert _forecast(cluster) == 1000 * step
    cluster.observe("a", {"cpu": 9000}, 600.0)
    assert _forecast(cluster) != 9000


def test_steady_use_is_forecast_to_stay() -> None:
    cluster = _cluster()
    for step in range(10):
        cluster.observe("a", {"cpu": 4000}, 10.0 * step)
    assert _forecast(cluster) == pytest.approx(4000)


@pytest.mark.parametrize("every_s", [10.0, 60.0])
def test_a_steady_rise_is_carried_forward_however_often_it_is_measured(every_s: float) -> None:
    cluster = _cluster()
    last = _rising(cluster, "a", 60, every_s, per_second=2.0)
    assert _forecast(cluster) == pytest.approx(last + 2.0 * AHEAD_S, rel=0.02)


def test_a_forecast_stays_within_what_the_node_has() -> None:
    cluster = _cluster()
    _rising(cluster, "a", 60, 30.0, per_second=25.0)
    assert _forecast(cluster) == 100_000
    for step in range(200):
        cluster.observe("a", {"cpu": max(0, 90_000 - 500 * step)}, 3600 + 30.0 * step)
    assert _forecast(cluster) == 0


def test_one_jump_between_the_first_reports_is_not_taken_for_a_trend() -> None:
    cluster = _cluster()
    for now, used in ((0.0, 1000), (10.0, 2000), (20.0, 2000)):
        cluster.observe("a", {"cpu": used}, now)
    assert _forecast(cluster) < 10_000


def test_a_clock_that_stands_or_goes_back_does_no_harm() -> None:
    cluster = _cluster()
    for now in (100.0, 100.0, 50.0, 60.0):
        cluster.observe("a", {"cpu": 3000}, now)
    assert _forecast(cluster) == pytest.approx(3000)


def test_measurements_without_a_time_do_not_count() -> None:
    cluster = _cluster()
    for used in (1000, 2000, 3000, 4000):
        cluster.observe("a", {"cpu": used})
    assert _forecast(cluster) == 4000


def test_a_node_that_takes_over_a_row_starts_afresh_and_others_are_left_alone() -> None:
    cluster = _cluster()
    _rising(cluster, "a", 30, 60.0, per_second=2.0)
    cluster.leave("a")
    cluster.join(Node(name="c", capacity=Capacity(cpu=100)))
    cluster.observe("c", {"cpu": 500}, 5000.0)
    assert cluster.rows["c"] == 0
    assert (_forecast(cluster, "c"), _forecast(cluster, "b")) == (500, 0)


def test_resources_and_nodes_that_come_later_have_a_trend_too() -> None:
    cluster = _cluster()
    cluster.observe("a", {"cpu": 1}, 0.0)
    for i in range(40):
        cluster.join(Node(name=f"n{i}", capacity=Capacity.model_validate({"cpu": 1, "vendor.com/x": 500})))
    for step in range(61):
        cluster.observe("n39", {"vendor.com/x": step}, 60.0 * step)
    found = View(cluster).forecast("vendor.com/x")
    assert found is not None
    assert found[cluster.rows["n39"]] == pytest.approx(75, rel=0.05)
    assert found[cluster.rows["a"]] == 0
