"""How long a workload ran: the time between attempts is left out, tasks side by side count once."""

import pytest

from dovetail.api.usage import run_time


@pytest.mark.parametrize(
    ("spans", "ran_s", "running_since"),
    [
        (None, 90.0, None),
        ([(10.0, 20.0), (50.0, 100.0)], 60.0, None),
        ([(10.0, 60.0), (20.0, 30.0), (60.0, 100.0)], 90.0, None),
        ([(50.0, None), (10.0, 20.0)], 10.0, 50.0),
        ([(10.0, None), (20.0, 30.0)], 0.0, 10.0),
        ([], 0.0, None),
    ],
)
def test_spans_are_joined(
    spans: list[tuple[float, float | None]] | None, ran_s: float, running_since: float | None
) -> None:
    row = {"started_at": 10.0, "finished_at": 100.0}
    assert run_time(row, spans) == {"ran_s": ran_s, "running_since": running_since}


def test_work_that_runs_counts_from_its_start_and_waiting_work_not_at_all() -> None:
    assert run_time({"started_at": 10.0, "finished_at": None}, None) == {"ran_s": 0.0, "running_since": 10.0}
    assert run_time({"started_at": None, "finished_at": None}, None) == {"ran_s": 0.0, "running_since": None}
