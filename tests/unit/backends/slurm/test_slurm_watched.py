"""What follows of one attempt from what is remembered of it: whether it is quiet, and how long it is waited for."""

from pathlib import Path

import pytest

from dovetail.backends.batch.record import JobId, StartOutlook
from dovetail.backends.batch.run_folder import JobRunFolder
from dovetail.backends.batch.watched import HOPELESS_FOR_S, LOOKS_UNTIL_READABLE, WAIT_WORTH_REPORTING_S, WatchedJob
from dovetail.backends.slurm.job_record import JobRecord

NOW_S, PATIENCE_S = 1000.0, 60.0


@pytest.fixture
def watched(tmp_path: Path) -> WatchedJob:
    return WatchedJob(JobRunFolder(tmp_path, "1.0.1"), JobId(1), "n1", {})


def job(state: str, reason: str = "", restarts: int = 0) -> JobRecord:
    return JobRecord(1, "x", state, reason, restarts=restarts)


def test_a_job_is_waited_for_as_long_as_the_patience_lasts(watched: WatchedJob) -> None:
    waiting = job("PENDING", "Resources")
    assert not watched.gives_up(waiting, StartOutlook.WAIT, NOW_S, PATIENCE_S)
    assert not watched.gives_up(waiting, StartOutlook.WAIT, NOW_S + PATIENCE_S - 1, PATIENCE_S)
    assert watched.gives_up(waiting, StartOutlook.WAIT, NOW_S + PATIENCE_S, PATIENCE_S)
    assert watched.waited_s(NOW_S + PATIENCE_S) == PATIENCE_S
    assert not watched.gives_up(waiting, StartOutlook.WAIT, NOW_S + PATIENCE_S, None)


def test_waiting_for_other_jobs_does_not_count(watched: WatchedJob) -> None:
    assert not watched.gives_up(job("PENDING", "Dependency"), StartOutlook.WAIT, NOW_S, PATIENCE_S)
    assert not watched.gives_up(job("PENDING", "Dependency"), StartOutlook.WAIT, NOW_S + 10 * PATIENCE_S, PATIENCE_S)
    after_s = NOW_S + 11 * PATIENCE_S - 1
    assert not watched.gives_up(job("PENDING", "Resources"), StartOutlook.WAIT, after_s, PATIENCE_S)
    assert watched.gives_up(job("PENDING", "Resources"), StartOutlook.WAIT, after_s + 1, PATIENCE_S)


def test_a_job_that_depends_on_one_that_failed_is_given_up_at_once(watched: WatchedJob) -> None:
    assert watched.gives_up(job("PENDING", "DependencyNeverSatisfied"), StartOutlook.WAIT, NOW_S, None)


def test_a_hopeless_job_is_given_up_when_it_has_been_hopeless_all_the_time(watched: WatchedJob) -> None:
    hopeless = job("PENDING", "PartitionDown")
    assert not watched.gives_up(hopeless, StartOutlook.ELSEWHERE, NOW_S, None)
    assert not watched.gives_up(job("PENDING", "Resources"), StartOutlook.WAIT, NOW_S + HOPELESS_FOR_S, None)
    again_s = NOW_S + HOPELESS_FOR_S + 1
    assert not watched.gives_up(hopeless, StartOutlook.ELSEWHERE, again_s, None)
    assert watched.gives_up(hopeless, StartOutlook.ELSEWHERE, again_s + HOPELESS_FOR_S, None)


def test_a_wait_that_lasts_is_reported_once_for_each_reason(watched: WatchedJob) -> None:
    full, busy = job("PENDING", "Resources"), job("PENDING", "Priority")
    watched.gives_up(full, StartOutlook.WAIT, NOW_S, PATIENCE_S)
    assert not watched.wait_to_report(full, NOW_S)
    lasting_s = NOW_S + WAIT_WORTH_REPORTING_S
    assert watched.wait_to_report(full, lasting_s) == "PENDING (Resources)"
    watched.reported_wait = "PENDING (Resources)"
    assert not watched.wait_to_report(full, lasting_s)
    assert watched.wait_to_report(busy, lasting_s) == "PENDING (Priority)"


def test_only_what_goes_on_as_it_did_is_quiet(watched: WatchedJob) -> None:
    running, waiting = job("RUNNING"), job("PENDING", "Resources")

    def is_quiet(record: JobRecord | None, at_s: float = NOW_S) -> bool:
        return watched.is_quiet(record, StartOutlook.WAIT, at_s, PATIENCE_S)

    assert not is_quiet(running)  # it is fresh
    watched.fresh = False
    assert not is_quiet(running)  # nobody was told that it runs
    assert not is_quiet(waiting)  # it was not seen to wait
    watched.gives_up(waiting, StartOutlook.WAIT, NOW_S, PATIENCE_S)
    assert is_quiet(waiting)
    assert not is_quiet(waiting, NOW_S + PATIENCE_S)
    watched.start_reported = True
    assert is_quiet(running)
    assert not is_quiet(job("RUNNING", restarts=1))
    assert not is_quiet(job("COMPLETED"))
    assert not is_quiet(None)
    watched.fence = "lost"
    assert not is_quiet(running)


@pytest.mark.parametrize(
    ("record", "holds"),
    [
        (job("RUNNING"), True),
        (job("CONFIGURING"), True),
        (job("COMPLETING"), True),
        (job("PENDING"), False),
        (job("COMPLETED"), False),
        (None, False),
    ],
)
def test_what_runs_or_waits_for_its_node_to_boot_holds_a_part_of_it(
    watched: WatchedJob, record: JobRecord | None, holds: bool
) -> None:
    watched.holds = not holds
    watched.note(record)
    assert watched.holds is holds


def test_a_claim_that_cannot_be_read_is_looked_at_again_a_few_times(watched: WatchedJob) -> None:
    for _ in range(LOOKS_UNTIL_READABLE):
        assert watched.may_be_writing()
    assert not watched.may_be_writing()
