"""Slurm's job states: the progress of a job, and what its end means for the attempt. Pure.

Slurm's own words are kept: every reason begins with the name of the state, followed by Slurm's reason if there is one.
Exit codes are those of the command; None if it was stopped or lost.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from dovetail.backends.slurm.driver import JobRecord
from dovetail.model.failure_cause import FailureCause

TIME_LIMIT_EXIT, UNUSABLE_EXIT, KILLED_EXIT = 124, 126, 137  # as timeout(1) and shells use them
FIRST_SIGNAL_STATUS = 128
_MOMENT = "%Y-%m-%dT%H:%M:%SZ"
UNKNOWN_EXIT = 1  # of a job that failed with an unknown exit code
NOT_TO_START_EXIT = 113  # the script found its command started or stopped before, and ran nothing
OUTPUT_FAILED_SIGNAL = 53  # Slurm reports it for a job whose output file could not be opened


class JobProgress(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"  # or starting or ending: some of it may run
    OVER = "over"
    LOST = "lost"  # over as far as Slurm knows; it may still run on its node


_STATES = {
    JobProgress.WAITING: "PENDING REQUEUED REQUEUE_HOLD REQUEUE_FED SPECIAL_EXIT RESV_DEL_HOLD CONFIGURING",
    JobProgress.RUNNING: "RUNNING SUSPENDED STOPPED SIGNALING RESIZING STAGE_OUT COMPLETING",
    JobProgress.OVER: "COMPLETED FAILED TIMEOUT OUT_OF_MEMORY CANCELLED PREEMPTED DEADLINE",
    JobProgress.LOST: "REVOKED BOOT_FAIL NODE_FAIL",
}
PROGRESS_OF_STATE = {state: progress for progress, states in _STATES.items() for state in states.split()}

#: Reasons of a job that waits for other jobs, and of one that waits for ever because one of those failed.
DEPENDENCY, NEVER_SATISFIED = "Dependency", "DependencyNeverSatisfied"


def progress_of(job: JobRecord) -> JobProgress:
    """An unknown state counts as not ended."""
    return PROGRESS_OF_STATE.get(job.state, JobProgress.RUNNING)


def waits_for_dependency(job: JobRecord) -> bool:
    return progress_of(job) is JobProgress.WAITING and job.reason.startswith(DEPENDENCY)


def never_starts(job: JobRecord) -> bool:
    return progress_of(job) is JobProgress.WAITING and job.reason.startswith(NEVER_SATISFIED)


def in_words(job: JobRecord) -> str:
    """Such as `PENDING (Resources)`."""
    return f"{job.state} ({job.reason})" if job.reason else job.state


class How(StrEnum):
    """How a command ended, according to its job's script."""

    ENDED = "ended"  # by itself, or by a signal from outside
    STOPPED = "stopped"  # the script ended it, on request
    TIMEOUT = "timeout"  # the script ended it at its time limit


@dataclass(frozen=True, slots=True)
class Result:
    exit_code: int
    how: How


@dataclass(frozen=True, slots=True)
class End:
    """`refused`: it has not run, and never will. `taken_back`: Slurm did not start it, and the task is placed again.
    `cause`: whose fault that is, or that of a failure."""

    exit_code: int | None
    reason: str
    refused: bool = False
    taken_back: bool = False
    cause: FailureCause = FailureCause.UNKNOWN


def end_of_result(result: Result, stop_reason: str | None, state: str = "") -> End:
    """The end of a command whose script wrote a result."""
    before = f"{state}: " if state else ""
    if result.how is How.STOPPED:
        return End(None, f"{before}stopped: {stop_reason or 'on request'}")
    if result.how is How.TIMEOUT:
        return End(TIME_LIMIT_EXIT, f"{before}stopped: it ran longer than its time limit")
    if result.exit_code > FIRST_SIGNAL_STATUS:
        return End(result.exit_code, f"{before}killed by signal {result.exit_code - FIRST_SIGNAL_STATUS}")
    return End(result.exit_code, f"{before}exited with status {result.exit_code}")


def taken_back(job: JobRecord, node: str, waited_s: float, cause: FailureCause) -> End:
    """The end of a job that was cancelled before it started: the task is placed elsewhere, if that can help."""
    if never_starts(job):
        words = "a job that it depends on did not end as it should"
        return End(UNUSABLE_EXIT, f"{in_words(job)}: it could not be started: {words}", cause=FailureCause.WORKLOAD)
    return not_started(f"Slurm did not start it on {node} in {waited_s:.0f} s: {in_words(job)}", cause)


def not_started(reason: str, cause: FailureCause) -> End:
    return End(None, reason, refused=True, taken_back=True, cause=cause)


def _when(job: JobRecord) -> str:
    """Start and end time, which only records of the accounting have."""
    if not job.started_s or not job.ended_s:
        return ""
    began, ended = (datetime.fromtimestamp(one, UTC).strftime(_MOMENT) for one in (job.started_s, job.ended_s))
    return f" from {began} to {ended}"


def end_of_job(job: JobRecord, *, claimed: bool, result: Result | None, stop_reason: str | None, folder: str) -> End:
    """The end of a job that is over. `claimed`: its script began to start the command."""
    said = f"{in_words(job)}{_when(job)}"
    if job.state == "CANCELLED":
        begun = "" if claimed else " before it started"
        return End(None, f"{said}: stopped{begun}: {stop_reason}" if stop_reason else f"{said}: by somebody in Slurm")
    if job.state in ("PREEMPTED", "DEADLINE"):
        return End(None, f"{said}: Slurm ended it")
    if job.state == "TIMEOUT":
        return End(TIME_LIMIT_EXIT, f"{said}: stopped: it ran longer than its time limit")
    if job.state == "OUT_OF_MEMORY":
        code = result.exit_code if result and result.exit_code else KILLED_EXIT
        return End(code, f"{said}: killed: used more memory than it asked for")
    if result is not None:
        return end_of_result(result, stop_reason, said)
    if not claimed and stop_reason is not None:
        return End(None, f"{said}: stopped before it started: {stop_reason}")
    if not claimed and job.exit_code == NOT_TO_START_EXIT:
        return End(None, f"{said}: lost: another job had started its command, and no trace of that is left")
    if not claimed and (job.exit_code == UNUSABLE_EXIT or job.signal == OUTPUT_FAILED_SIGNAL):
        words = f"it could not be started: node {job.nodes} cannot use {folder}; that folder has to be on a file system"
        return End(UNUSABLE_EXIT, f"{said}: {words} which the nodes share, and belong to the user that jobs run as")
    if job.signal:
        return End(FIRST_SIGNAL_STATUS + job.signal, f"{said}: killed by signal {job.signal}")
    if job.state == "FAILED" and not job.exit_code:
        return End(UNKNOWN_EXIT, f"{said}: exited with a status that Slurm does not say any more")
    return End(job.exit_code, f"{said}: exited with status {job.exit_code}")
