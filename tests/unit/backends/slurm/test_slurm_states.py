"""Every state of Slurm's is one thing here, with Slurm's reason kept.

Which states and reasons there are is asked of the library of the Slurm that is installed.
"""

import ctypes
from collections.abc import Callable
from pathlib import Path

import pytest

from dovetail.backends.batch.ends import NOT_TO_START_EXIT, End, How, Result, blamed
from dovetail.backends.batch.record import JobProgress, StartOutlook
from dovetail.backends.batch.watched import taken_back
from dovetail.backends.slurm import rest_reading
from dovetail.backends.slurm.driver import SlurmNode
from dovetail.backends.slurm.job_record import JobRecord
from dovetail.backends.slurm.reasons import (
    PENDING_REASONS,
    SUBMISSION_ERRORS,
    is_transient,
    outlook_of,
    returns_by_itself,
)
from dovetail.backends.slurm.states import (
    DEPENDENCY,
    NEVER_SATISFIED,
    PROGRESS_OF_STATE,
    end_of_job,
    never_starts,
    progress_of,
    waits_for_dependency,
)
from dovetail.model.failure_cause import FailureCause

BASE_STATES = range(256)
COMPLETED = 3  # among the base states
FLAGS = [1 << bit for bit in range(8, 32)]
REASONS = range(1000)


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


def test_what_only_the_accounting_knows_is_told_with_its_times() -> None:
    record = JobRecord(1, "x", "FAILED", exit_code=3, started_s=1_700_000_000, ended_s=1_700_000_061)
    times = "from 2023-11-14T22:13:20Z to 2023-11-14T22:14:21Z"
    assert end(record) == End(3, f"FAILED {times}: exited with status 3")


def test_a_job_that_failed_is_no_success_though_its_status_is_not_said() -> None:
    found = end(job("FAILED", "JobLaunchFailure"))
    assert found == End(1, "FAILED (JobLaunchFailure): exited with a status that Slurm does not say any more")


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
    assert progress_of(job("COMPLETING")) is progress_of(job("SUSPENDED")) is JobProgress.RUNNING
    assert progress_of(job("A_STATE_OF_TOMORROW")) is JobProgress.RUNNING
    assert {state for state, course in PROGRESS_OF_STATE.items() if course is JobProgress.LOST} == {
        "NODE_FAIL",
        "BOOT_FAIL",
        "REVOKED",
    }


def test_waiting_for_room_is_not_hopeless_and_waiting_for_an_administrator_is() -> None:
    for said, outlook in (
        (job("PENDING", "Resources"), StartOutlook.WAIT),
        (job("PENDING", "Priority"), StartOutlook.WAIT),
        (job("RUNNING", "PartitionConfig"), StartOutlook.WAIT),
        (job("PENDING", "PartitionTimeLimit"), StartOutlook.NEVER),
        (job("PENDING", "PartitionDown"), StartOutlook.ELSEWHERE),
        (job("PENDING", "ReqNodeNotAvail, UnavailableNodes:n2"), StartOutlook.ELSEWHERE),
    ):
        assert outlook_of(said, node_is_lost=True) is outlook, said


def test_a_node_that_comes_back_by_itself_is_waited_for() -> None:
    said = job("PENDING", "ReqNodeNotAvail, UnavailableNodes:n2")
    assert outlook_of(said, node_is_lost=False) is StartOutlook.WAIT
    for state, flags, returns in (
        ("UNKNOWN", (), True),
        ("IDLE", ("NOT_RESPONDING",), True),
        ("IDLE", ("POWERING_UP",), True),
        ("IDLE", ("DRAIN", "REBOOT_ISSUED"), True),
        ("DOWN", ("NOT_RESPONDING",), False),
        ("IDLE", ("DRAIN",), False),
        ("IDLE", ("DRAIN", "NOT_RESPONDING"), False),
        ("IDLE", (), False),
    ):
        assert returns_by_itself(SlurmNode("n2", state, frozenset(flags))) is returns, (state, flags)


def test_what_a_command_does_is_blamed_on_its_workload_and_a_folder_on_its_node() -> None:
    missing = blamed(End(127, "FAILED (NonZeroExitCode): exited with status 127"))
    assert (missing.cause, "correct run.command" in missing.reason) == (FailureCause.WORKLOAD, True)
    assert blamed(missing) == missing
    unusable = end(job("FAILED", "", 126), claimed=False)
    assert blamed(unusable).cause is FailureCause.NODE
    for other in (End(3, "exited with status 3"), End(0, "exited with status 0"), End(None, "lost")):
        assert blamed(other) == other


def test_limits_of_slurm_pass_and_what_a_job_asks_for_wrongly_does_not() -> None:
    limit = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
    assert SUBMISSION_ERRORS.cause(limit) is FailureCause.BACKEND
    assert SUBMISSION_ERRORS.cause("Invalid account or account/partition combination") is FailureCause.WORKLOAD
    assert SUBMISSION_ERRORS.cause("Requested node configuration is not available") is FailureCause.WORKLOAD
    assert is_transient("sbatch: error: Batch job submission failed: Protocol authentication error")
    assert not is_transient(limit)


def test_a_job_that_waits_for_others_is_not_hopeless_until_they_have_failed() -> None:
    waiting, vain = job("PENDING", "Dependency"), job("PENDING", "DependencyNeverSatisfied")
    assert waits_for_dependency(waiting)
    assert not never_starts(waiting)
    assert outlook_of(waiting, node_is_lost=False) is StartOutlook.WAIT
    assert never_starts(vain)
    assert not waits_for_dependency(job("RUNNING", "Dependency"))
    assert taken_back(vain, "Slurm", "n1", 5, FailureCause.BACKEND).exit_code == 126
    assert taken_back(job("PENDING", "Resources"), "Slurm", "n1", 5, FailureCause.BACKEND).refused


# --- Slurm's own lists --------------------------------------------------------------------------------------------


@pytest.fixture
def word() -> Callable[[str, int], str]:
    """What a function of Slurm's library calls a number."""
    folders = [*Path("/usr/lib").glob("*/slurm-wlm"), *Path("/usr").glob("lib*/slurm")]
    found = next((path for path in (folder / "libslurmfull.so" for folder in folders) if path.exists()), None)
    if found is None:
        pytest.skip("Slurm's library is not installed")
    library = ctypes.CDLL(str(found))

    def said(function: str, number: int) -> str:
        call = getattr(library, function)
        call.restype, call.argtypes = ctypes.c_char_p, [ctypes.c_uint32]
        return str(call(number).decode())

    return said


def test_every_state_that_slurm_has_is_known(word: Callable[[str, int], str]) -> None:
    states = {word("slurm_job_state_string", number) for number in (*BASE_STATES, *FLAGS)} - {"?"}
    assert {"PENDING", "RUNNING", "SPECIAL_EXIT", "OUT_OF_MEMORY"} <= states
    assert states == set(PROGRESS_OF_STATE)


def test_every_flag_that_newer_versions_list_beside_a_state_leaves_it_what_it_is(
    word: Callable[[str, int], str],
) -> None:
    for flag in FLAGS:
        words = word("job_state_string_complete", flag | COMPLETED).split(",")
        state = rest_reading.read_job({"job_id": 1, "job_state": words}).state
        assert state in PROGRESS_OF_STATE, words
        if (
            len(words) > 1 and words[1] not in PROGRESS_OF_STATE
        ):  # a remark, such as UPDATE_DB: it has ended all the same
            assert state == "COMPLETED"


def test_reasons_that_are_acted_upon_are_reasons_of_slurms(word: Callable[[str, int], str]) -> None:
    reasons = {word("slurm_job_reason_string", number) for number in REASONS}
    assert {*PENDING_REASONS, DEPENDENCY, NEVER_SATISFIED} <= reasons
