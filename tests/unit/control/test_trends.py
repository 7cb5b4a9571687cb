"""Trends: samples are kept in bounded tables, survive a restart with a gap, and come from a server that works."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import func, select
from tests.patience import wait_for
from tests.unit.api.server import serving, settings_in

from dovetail.client import Client, DovetailError
from dovetail.control.settings import Settings
from dovetail.control.subsystems.registry import find_subsystem
from dovetail.control.telemetry.decision_times import DecisionTimes
from dovetail.control.trends.book import LoopCounts, TrendBook
from dovetail.control.trends.down_sampling import TIERS, window
from dovetail.control.trends.series import USE, WAITING, answer_of, described, values_of
from dovetail.control.trends.tables import buckets
from dovetail.engine.questions.trend_questions import TrendSample
from dovetail.store.subsystem_tables import SubsystemTables

NOW = 1_800_000_000.0


def book_in(folder: Path) -> TrendBook:
    declared = find_subsystem("trends")
    assert declared.migrations is not None
    return TrendBook(SubsystemTables("trends", folder / "tables.db", declared.migrations))


@pytest.fixture
def book(tmp_path: Path) -> Iterator[TrendBook]:
    found = book_in(tmp_path)
    yield found
    found.database.close()


def test_what_was_recorded_is_read_back_in_every_tier(book: TrendBook) -> None:
    for i in range(12):
        book.record(NOW + 10 * i, {"cpu": float(i)})
    now = NOW + 115
    assert book.read(window(now, 120, 12)).values("cpu") == [float(i) for i in range(12)]
    assert book.read(window(now, 120, 2)).values("cpu") == [2.5, 8.5]
    assert book.read(window(now, 24 * 3600, 1440)).values("cpu")[-2:] == [2.5, 8.5]
    assert book.read(window(now, 30 * 24 * 3600, 2000)).values("cpu")[-1] == 5.5


def test_a_restart_leaves_a_gap_and_goes_on_with_open_buckets(tmp_path: Path) -> None:
    first = book_in(tmp_path)
    first.record(NOW, {"cpu": 0.0})
    first.database.close()
    second = book_in(tmp_path)
    second.record(NOW + 30, {"cpu": 1.0})
    assert second.read(window(NOW + 30, 40, 4)).values("cpu") == [0.0, None, None, 1.0]
    assert second.read(window(NOW + 30, 60, 1)).values("cpu") == [0.5], "the minute that was open has both"
    second.database.close()


def test_old_buckets_are_forgotten(book: TrendBook) -> None:
    for hour in range(40 * 24):
        book.record(NOW + 3600 * hour, {"cpu": 0.5})
    with book.database.reading() as connection:
        counted = select(buckets.c.step_s, func.count()).group_by(buckets.c.step_s)
        rows = {row[0]: row[1] for row in connection.execute(counted)}
    assert all(rows[tier.step_s] <= tier.keep_s / 3600 + 2 for tier in TIERS), rows


def test_nothing_is_read_and_no_table_made_before_the_first_sample(book: TrendBook) -> None:
    assert book.read(window(NOW, 60, 6)).values("cpu") == [None] * 6
    assert not book.database.exist


def test_a_sample_becomes_values_with_units() -> None:
    totals = {"cpu": (2000, 8000), "gpu": (1500, 4000)}
    sample = TrendSample(totals, 0.25, 3, 7.5, {"a": 2, "others": 1}, {"leaf-1": 0.5})
    values = values_of(sample, LoopCounts(100, 2, None), LoopCounts(150, 3, 0.002), 10.0)
    assert values["cpu"] == 0.25
    assert (values["gpu_allocated"], values["gpu_capacity"]) == (1.5, 4.0)
    assert (values["decisions"], values["failures"], values["decision_p99"]) == (5.0, 6.0, 2.0)
    assert values[f"{WAITING}/a"] == 2
    assert values[f"{USE}/leaf-1"] == 0.5
    assert {described(name).unit for name in ("cpu", "memory_capacity", "wait_p90")} == {"share", "bytes", "s"}


def test_a_queue_in_which_nothing_waited_is_zero_and_the_smaller_ones_are_others(book: TrendBook) -> None:
    book.record(NOW, {"waiting": 60.0, **{f"{WAITING}/q{i:02}": 12.0 - i for i in range(12)}})
    book.record(NOW + 10, {"waiting": 0.0})
    group = answer_of(book.read(window(NOW + 20, 30, 3)), [])["groups"][WAITING]
    assert list(group) == [*(f"q{i:02}" for i in range(9)), "others"]
    assert group["q00"] == [12.0, 0.0, None]
    assert group["others"] == [3.0 + 2.0 + 1.0, 0.0, None]


def test_p99_of_decisions_goes_by_their_number() -> None:
    times = DecisionTimes()
    assert times.take_p99() is None
    times.note(1.0, 0.001, 98)
    times.note(2.0, 0.5, 2)
    assert times.take_p99() == 0.5
    assert times.take_p99() is None, "it tells of decisions since the last call"
    assert (times.of(1.0), times.of(3.0)) == (0.001, None)


# --- on a live server ------------------------------------------------------------------------------------------


def settings(folder: Path) -> Settings:
    return settings_in(folder, subsystems={"trends": {"every": "100ms"}})


def last(client: Client, name: str) -> float | None:
    found = client.trends(since_s=60, points=1, series=[name])
    return found["series"][name]["values"][-1]


def test_a_server_records_what_it_does_and_remembers_it(tmp_path: Path) -> None:
    began = time.time()
    with serving(settings(tmp_path)) as url, Client(url) as client:
        client.submit({"name": "half", "replicas": 4, "resources": {"cpu": 4, "gpu": 1}})
        client.submit({"name": "waits", "resources": {"cpu": 99}})
        wait_for(lambda: (last(client, "cpu") or 0) > 0.4 and (last(client, "waiting") or 0) > 0.9)
        found = client.trends(since_s=600, points=60)
        assert found["series"]["gpu_capacity"]["values"][-1] == 8
        assert found["groups"]["waiting_by_queue"]["default"][-1]
        assert set(found["groups"]["use_by_domain"]) == {"east"}
        assert found["times"][-1] >= began - 10
        assert found["times"][0] == found["from"]
        with pytest.raises(DovetailError, match="since"):
            client.trends(since_s=1)
    with serving(settings(tmp_path)) as url, Client(url) as client:
        assert last(client, "cpu") is not None, "what was recorded before the restart is still there"


def of_node(client: Client, node: str, name: str) -> float | None:
    found = client.trends(since_s=60, points=1, series=[name], node=node)
    return found["series"][name]["values"][-1]


def test_a_server_records_what_is_requested_of_each_node_and_what_it_measures(tmp_path: Path) -> None:
    with serving(settings(tmp_path)) as url, Client(url) as client:
        client.register_node({"name": "own", "capacity": {"cpu": 8, "memory": "8GiB", "gpu": 2}, "labels": {"a": "b"}})
        client.submit({"name": "quarter", "resources": {"cpu": 2, "gpu": 1}, "node_selector": {"a": "b"}})
        wait_for(lambda: client.heartbeat("own", used={"cpu": 4.0}) and (of_node(client, "own", "cpu") or 0) > 0.2)
        wait_for(lambda: of_node(client, "own", "cpu_observed") == 0.5)
        assert of_node(client, "own", "memory_observed") is None, "it does not tell"
        assert (of_node(client, "own", "gpu") or 0) > 0.4
        assert of_node(client, "node-1", "cpu_observed") is None
        whole = client.trends(since_s=7 * 86_400, node="own")
        assert whole["step_s"] == 3600
        assert whole["groups"] == {}
        assert whole["series"]["cpu"]["title"] == "CPU requested"
        with pytest.raises(DovetailError, match="no node 'nobody'"):
            client.trends(node="nobody")
    with serving(settings(tmp_path)) as url, Client(url) as client:
        assert of_node(client, "own", "cpu_observed") == 0.5, "it is kept over a restart"
