"""Every state of Slurm's is one thing here, with Slurm's reason kept."""

import pytest

from dovetail.backends.slurm.records import JobRecord
from dovetail.backends.slurm.states import (
    COURSES,
    NOT_TO_START_EXIT,
    Course,
    End,
    How,
    Result,
    course_of,
    end_of_job,
    is_hopeless,
)


def job(state: str, reason: str = "", exit_code: int = 0, signal: int = 0) -> JobRecord:
    return JobRecord(1, "x", state, reason, exit_code, signal, nodes="n1")


def end(
    record: JobRecord, *, claimed: bool = True, result: Result | None = None, stop_reason: str | None = None
) -> End:
    return end_of_job(record, claimed=claimed, result=result, stop_reason=stop_reason, folder="/shared")


@pytest.mark.parametrize(
    ("record", "exit_code", "words"),
    [
        (job("COMPLETED"), 0, "COMPLETED: exited with status 0"),
        (job("FAILED", "NonZeroExitCode", 3), 3, "FAILED (NonZeroExitCode): exited with status 3"),
        (job("FAILED", "RaisedSignal:11", 0, 11), 139, "FAILED (RaisedSignal:11): killed by signal 11"),
        (job("TIMEOUT", "TimeLimit", 0, 1), 124, "TIMEOUT (TimeLimit): stopped: it ran longer than its time limit"),
        (job("OUT_OF_MEMORY", "OutOfMemory", 0, 125), 137, "OUT_OF_MEMORY (OutOfMemory): killed: used more memory"),
        (job("CANCELLED", "", 0, 15), None, "CANCELLED: by somebody in Slurm"),
        (job("CANCELLED", "by user 7", 0, 15), None, "CANCELLED (by user 7): by somebody in Slurm"),
        (job("PREEMPTED", "", 0, 15), None, "PREEMPTED: Slurm ended it"),
        (job("DEADLINE"), None, "DEADLINE: Slurm ended it"),
    ],
)
def test_the_end_of_a_job_says_what_slurm_said(record: JobRecord, exit_code: int | None, words: str) -> None:
    found = end(record)
    assert found.exit_code == exit_code
    assert found.reason.startswith(words)


def test_a_job_that_was_told_to_stop_was_stopped_and_one_that_ended_first_was_not() -> None:
    killed, done = Result(143, How.ENDED), Result(4, How.ENDED)
    assert end(job("CANCELLED"), result=killed, stop_reason="enough") == End(None, "CANCELLED: stopped: enough")
    assert end(job("FAILED", exit_code=4), result=done, stop_reason="enough").exit_code == 4
    script = Result(143, How.STOPPED)
    assert end(job("FAILED", exit_code=143), result=script, stop_reason="enough").exit_code is None
    unstarted = end(job("FAILED", exit_code=NOT_TO_START_EXIT), claimed=False, stop_reason="never mind")
    assert unstarted == End(None, "FAILED: stopped before it started: never mind")


def test_a_job_that_found_nothing_to_start_is_never_a_success() -> None:
    assert end(job("FAILED", exit_code=NOT_TO_START_EXIT), claimed=False).exit_code is None


def test_a_job_that_never_began_because_of_its_folder_says_what_to_do() -> None:
    for record in (job("FAILED", "RaisedSignal:53", 0, 53), job("FAILED", "NonZeroExitCode", 126)):
        found = end(record, claimed=False)
        assert found.exit_code == 126
        assert "/shared; that folder has to be on a file system which the nodes share" in found.reason


def test_what_is_on_its_way_has_not_ended() -> None:
    assert course_of(job("COMPLETING")) is course_of(job("SUSPENDED")) is Course.RUNNING
    assert course_of(job("A_STATE_OF_TOMORROW")) is Course.RUNNING
    assert {state for state, course in COURSES.items() if course is Course.LOST} == {
        "NODE_FAIL",
        "BOOT_FAIL",
        "REVOKED",
    }


def test_waiting_for_room_is_not_hopeless_and_waiting_for_an_administrator_is() -> None:
    assert not is_hopeless(job("PENDING", "Resources"))
    assert not is_hopeless(job("PENDING", "Priority"))
    assert not is_hopeless(job("RUNNING", "PartitionConfig"))
    assert is_hopeless(job("PENDING", "PartitionTimeLimit"))
    assert is_hopeless(job("PENDING", "ReqNodeNotAvail, UnavailableNodes:n2"))
