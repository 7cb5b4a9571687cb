"""What states, comments and exit statuses of PBS mean for an attempt."""

from typing import Any

import pytest

from dovetail.backends.batch.ends import End, How, Result
from dovetail.backends.batch.record import JobProgress, StartOutlook
from dovetail.backends.pbs.amounts import read_size, read_time_s, written_time
from dovetail.backends.pbs.exits import NEGATIVE_EXITS, meaning_of
from dovetail.backends.pbs.job_record import STATES, PbsRecord
from dovetail.backends.pbs.reasons import SUBMISSION_ERRORS, is_transient
from dovetail.model.failure_cause import FailureCause


def job(state: str, exit_status: int | None = None, reason: str = "", **fields: Any) -> PbsRecord:
    return PbsRecord(12, "dovetail-x-1.0.1", state, reason, exit_status=exit_status, nodes="n1", **fields)


def ended(
    exit_status: int | None,
    *,
    claimed: bool = True,
    result: Result | None = None,
    stop_reason: str | None = None,
    reason: str = "",
) -> End:
    record = job("FINISHED", exit_status, reason)
    return record.end(claimed=claimed, result=result, stop_reason=stop_reason, folder="/shared")


@pytest.mark.parametrize(("letter", "word"), [(letter, word) for letter, (word, _) in STATES.items()])
def test_every_state_has_its_progress(letter: str, word: str) -> None:
    known = job(word, 0).progress
    assert known is STATES[letter][1]


def test_an_end_that_pbs_does_not_explain_is_not_over_yet() -> None:
    assert job("COMPLETED").progress is JobProgress.ENDED_UNSAID
    assert job("FINISHED", -3).progress is JobProgress.ENDED_UNSAID, "the node was to try again"
    assert job("FINISHED", -29).progress is JobProgress.OVER
    assert job("FINISHED", 0).progress is JobProgress.OVER
    assert job("something new").progress is JobProgress.RUNNING


@pytest.mark.parametrize(
    ("exit_status", "code", "words"),
    [
        (0, 0, "exited with status 0"),
        (3, 3, "exited with status 3"),
        (137, 137, "killed by signal 9"),
        (271, 143, "killed by signal 15"),
        (-29, 124, "longer than its time limit"),
        (-27, 137, "used more memory than it asked for"),
        (-28, 137, "used more CPU time than it asked for"),
        (-4, None, "lost: its node's daemon was restarted"),
        (-99, None, "PBS ended it with its own status -99"),
        (None, None, "lost"),
    ],
)
def test_exit_statuses_by_their_meaning(exit_status: int | None, code: int | None, words: str) -> None:
    end = ended(exit_status)
    assert end.exit_code == code
    assert words in end.reason


def test_what_the_script_wrote_counts_before_what_pbs_says() -> None:
    assert ended(0, result=Result(9, How.ENDED)).exit_code == 9
    assert ended(None, result=Result(9, How.ENDED)).exit_code == 9
    assert ended(-29, result=Result(143, How.ENDED)).exit_code == 124, "PBS knows why"


def test_what_was_stopped_has_no_exit_code() -> None:
    assert ended(271, stop_reason="enough") == End(None, "FINISHED: stopped: enough")
    assert ended(0, result=Result(0, How.ENDED), stop_reason="enough").exit_code is None
    assert ended(0, result=Result(124, How.TIMEOUT), stop_reason="enough").exit_code == 124
    assert ended(None, claimed=False, stop_reason="enough").reason == "FINISHED: stopped before it started: enough"


def test_a_node_that_could_not_start_it_gives_it_back() -> None:
    for status in (-1, -2, -3, -10, -16):
        end = ended(status, claimed=False)
        assert (end.taken_back, end.refused, end.cause) == (True, True, FailureCause.NODE)
    assert "by somebody in PBS" in ended(None, claimed=False).reason
    assert "cannot use /shared" in ended(126, claimed=False).reason
    words = "Job deleted as result of dependency on job 3.head"
    assert ended(None, claimed=False, reason=words).exit_code == 126


def test_every_negative_status_has_words() -> None:
    assert set(NEGATIVE_EXITS) == set(range(-30, 0)) - {-8, -9}
    assert meaning_of(0) is None
    assert meaning_of(271) is None


def test_what_can_be_expected_of_a_queued_job() -> None:
    assert job("QUEUED").outlook(node_is_lost=False) is StartOutlook.WAIT
    assert job("QUEUED").outlook(node_is_lost=True) is StartOutlook.ELSEWHERE
    never = job("QUEUED", reason="Can Never Run: Insufficient amount of resource: ncpus (R: 9 A: 4 T: 4)")
    assert never.outlook(node_is_lost=False) is StartOutlook.NEVER
    assert job("RUNNING").outlook(node_is_lost=True) is StartOutlook.WAIT
    assert job("HELD", depends="afterok:3.head").waits_for_jobs
    assert not job("QUEUED").waits_for_jobs


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ("would exceed queue workq's per-user limit", FailureCause.BACKEND),
        ("Maximum number of jobs already in queue workq", FailureCause.BACKEND),
        ("Queue is not enabled", FailureCause.BACKEND),
        ("Unknown queue", FailureCause.WORKLOAD),
        ("Job violates queue and/or server resource limits", FailureCause.WORKLOAD),
        ("Invalid Account", FailureCause.WORKLOAD),
    ],
)
def test_whose_fault_a_rejection_is(words: str, cause: FailureCause) -> None:
    assert SUBMISSION_ERRORS.cause(words) is cause


def test_a_server_that_is_away_is_asked_again() -> None:
    assert is_transient("qsub: cannot connect to server head (errno=15010)")
    assert is_transient("Problem loading jobs.")
    assert not is_transient("qsub: Unknown queue")


@pytest.mark.parametrize(
    ("text", "size"),
    [("1024", 1024), ("4kb", 4096), ("2mw", 2**24), ("3GB", 3 * 2**30), (5, 5), ("s1", None), (None, None), ("", None)],
)
def test_sizes(text: str | int | None, size: int | None) -> None:
    assert read_size(text) == size


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("01:30", 90), ("36:00:01", 129601), ("x", None)])
def test_times(text: str, seconds: int | None) -> None:
    assert read_time_s(text) == seconds
    if seconds is not None:
        assert read_time_s(written_time(seconds)) == seconds
