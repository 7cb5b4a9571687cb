"""`dovetail reserve`: times as people type them, and reservations as lists and pages of 80 columns."""

from datetime import datetime
from typing import Any

import pytest
from tests.unit.cli.answers import NOW, drawn, widest

from dovetail.cli.queues.reserve import local_last, local_moment
from dovetail.cli.render.reservations import one_reservation, reservation_list
from dovetail.cli.terminal.failure import Failure
from dovetail.responses.queues import ReservationRow

NOON = datetime(2026, 3, 4, 12, 0, 30).timestamp()


def reservation(**changed: Any) -> ReservationRow:
    found: ReservationRow = {
        "id": 7,
        "node": None,
        "nodes": {f"node-{i}": {"cpu": "4", "slots": 1} for i in range(30)},
        "target": "30 tasks of cpu 4 in rack=r1",
        "resources": {"cpu": "120", "slots": 30},
        "start": NOW + 7200,
        "until": NOW + 10800,
        "every_s": 86400.0,
        "repeats_until": NOW + 30 * 86400,
        "tenant": "research",
        "holder": "ada",
        "status": "planned",
        "message": "",
    }
    return {**found, **changed}  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("14:00", datetime(2026, 3, 4, 14, 0)),
        ("12:00", datetime(2026, 3, 4, 12, 0)),
        ("11:59", datetime(2026, 3, 5, 11, 59)),
        ("8:30:15", datetime(2026, 3, 5, 8, 30, 15)),
        ("2026-12-01T08:00", datetime(2026, 12, 1, 8, 0)),
        ("2026-12-01", datetime(2026, 12, 1)),
    ],
)
def test_a_time_without_a_zone_is_local_and_a_clock_time_is_the_next_one(typed: str, meant: datetime) -> None:
    found = datetime.fromisoformat(local_moment(typed, NOON))
    assert found.tzinfo is not None
    assert found.timestamp() == meant.timestamp()


def test_now_and_times_from_now_are_left_to_the_server() -> None:
    assert [local_moment(typed, NOON) for typed in ("now", "+2h", "+nonsense")] == ["now", "+2h", "+nonsense"]


def test_a_last_day_lasts_until_its_end() -> None:
    end = datetime(2026, 12, 1, 23, 59, 59).timestamp()
    assert datetime.fromisoformat(local_last("2026-12-01", NOON)).timestamp() == end
    assert local_last("+30d", NOON) == "+30d"


@pytest.mark.parametrize("typed", ["25:00", "tomorrow", "", "2026-13-01", "12", "99:99:99"])
def test_what_is_no_time_is_refused_with_what_would_be_accepted(typed: str) -> None:
    with pytest.raises(Failure, match="14:00"):
        local_moment(typed, NOON)


def test_a_list_says_who_holds_what_and_when_in_80_columns() -> None:
    held = reservation(node="node-1", start=NOW - 60, until=NOW + 60, status="active", tenant=None, every_s=None)
    text = drawn(reservation_list([reservation(), held], NOW))
    assert widest(text) <= 80
    for words in ("30 nodes", "in 2h00m", "1d00h", "research", "node-1", "1m00s left", "ada"):
        assert words in text


def test_nothing_reserved_is_said() -> None:
    assert "nothing is reserved" in drawn(reservation_list([], NOW))


def test_one_reservation_is_shown_with_its_trouble_and_its_first_nodes() -> None:
    text = drawn(one_reservation(reservation(status="degraded", message="node-31 left"), NOW))
    for words in ("degraded: node-31 left", "30 tasks of cpu 4 in rack=r1", "node-19 (cpu 4", "and 10 more"):
        assert words in text
    assert text.splitlines()[-1] == "and 10 more nodes; -o wide lists them"
    assert "node-25" not in text
    everything = drawn(one_reservation(reservation(status="degraded", message="node-31 left"), NOW, wide=True))
    assert "node-25" in everything
    assert "more nodes" not in everything
