"""Slurm's job states: the progress of a job, and what its end means for the attempt. Pure.

Slurm's own words are kept: every reason begins with the name of the state, followed by Slurm's reason if there is one.
Exit codes are those of the command; None if it was stopped or lost.
"""

from datetime import UTC, datetime

from dovetail.backends.batch.ends import (
    FIRST_SIGNAL_STATUS,
    KILLED_EXIT,
    TIME_LIMIT_EXIT,
    UNKNOWN_EXIT,
    UNUSABLE_EXIT,
    End,
    Result,
    end_of_result,
    end_without_start,
)
from dovetail.backends.batch.record import BatchRecord, JobProgress

_MOMENT = "%Y-%m-%dT%H:%M:%SZ"
OUTPUT_FAILED_SIGNAL = 53  # Slurm reports it for a job whose output file could not be opened


_STATES = {
    JobProgress.WAITING: "PENDING REQUEUED REQUEUE_HOLD REQUEUE_FED SPECIAL_EXIT RESV_DEL_HOLD CONFIGURING",
    JobProgress.RUNNING: "RUNNING SUSPENDED STOPPED SIGNALING RESIZING STAGE_OUT COMPLETING",
    JobProgress.OVER: "COMPLETED FAILED TIMEOUT OUT_OF_MEMORY CANCELLED PREEMPTED DEADLINE",
    JobProgress.LOST: "REVOKED BOOT_FAIL NODE_FAIL",
}
PROGRESS_OF_STATE = {state: progress for progress, states in _STATES.items() for state in states.split()}

#: Reasons of a job that waits for other jobs, and of one that waits for ever because one of those failed.
DEPENDENCY, NEVER_SATISFIED = "Dependency", "DependencyNeverSatisfied"


def progress_of(job: BatchRecord) -> JobProgress:
    """An unknown state counts as not ended."""
    return PROGRESS_OF_STATE.get(job.state, JobProgress.RUNNING)


def waits_for_dependency(job: BatchRecord) -> bool:
    return progress_of(job) is JobProgress.WAITING and job.reason.startswith(DEPENDENCY)


def never_starts(job: BatchRecord) -> bool:
    return progress_of(job) is JobProgress.WAITING and job.reason.startswith(NEVER_SATISFIED)


def _when(job: BatchRecord) -> str:
    """Start and end time, which only records of the accounting have."""
    if not job.started_s or not job.ended_s:
        return ""
    began, ended = (datetime.fromtimestamp(one, UTC).strftime(_MOMENT) for one in (job.started_s, job.ended_s))
    return f" from {began} to {ended}"


def end_of_job(job: BatchRecord, *, claimed: bool, result: Result | None, stop_reason: str | None, folder: str) -> End:
    """The end of a job that is over. `claimed`: its script began to start the command."""
    said = f"{job.in_words()}{_when(job)}"
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
    if not claimed:
        unusable = job.exit_code == UNUSABLE_EXIT or job.signal == OUTPUT_FAILED_SIGNAL
        end = end_without_start(
            said, job.exit_code, stop_reason=stop_reason, unusable=unusable, node=job.nodes, folder=folder
        )
        if end is not None:
            return end
    if job.signal:
        return End(FIRST_SIGNAL_STATUS + job.signal, f"{said}: killed by signal {job.signal}")
    if job.state == "FAILED" and not job.exit_code:
        return End(UNKNOWN_EXIT, f"{said}: exited with a status that Slurm does not say any more")
    return End(job.exit_code, f"{said}: exited with status {job.exit_code}")
