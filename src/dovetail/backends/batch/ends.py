"""How an attempt ended: what its script wrote, and what is reported. Pure.

Exit codes are those of the command; None if it was stopped or lost.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from dovetail.backends.failure_rules import FailureRule, FailureRules
from dovetail.model.failure_cause import FailureCause

TIME_LIMIT_EXIT, UNUSABLE_EXIT, KILLED_EXIT = 124, 126, 137  # as timeout(1) and shells use them
FIRST_SIGNAL_STATUS = 128
UNKNOWN_EXIT = 1  # of a job that failed with an unknown exit code
NOT_TO_START_EXIT = 113  # the script found its command started or stopped before, and ran nothing

#: Ends of a job that failed, in our words.
JOB_ENDS = FailureRules(
    [
        FailureRule("exited with status 127$", FailureCause.WORKLOAD, "correct run.command if it was not found"),
        FailureRule("exited with status 126$", FailureCause.WORKLOAD, "correct run.workdir or run.command"),
        FailureRule("used more memory than it asked for", FailureCause.WORKLOAD, "raise resources.memory, or use less"),
        FailureRule("longer than its time limit", FailureCause.WORKLOAD),
        FailureRule("that folder has to be on a file system", FailureCause.NODE),
    ]
)


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
    """`refused`: it has not run, and never will. `taken_back`: its job was not started, and the task is placed again.
    `cause`: whose fault that is, or that of a failure."""

    exit_code: int | None
    reason: str
    refused: bool = False
    taken_back: bool = False
    cause: FailureCause = FailureCause.UNKNOWN


def end_of_result(result: Result, stop_reason: str | None, state: str = "") -> End:
    """The end of a command whose script wrote a result. A batch system may send its signal to the command as well,
    which then ends before the script ends it: who was to be stopped and ended by a signal was stopped."""
    before = f"{state}: " if state else ""
    by_signal = result.exit_code > FIRST_SIGNAL_STATUS
    if result.how is How.STOPPED or (result.how is How.ENDED and by_signal and stop_reason is not None):
        return End(None, f"{before}stopped: {stop_reason or 'on request'}")
    if result.how is How.TIMEOUT:
        return End(TIME_LIMIT_EXIT, f"{before}stopped: it ran longer than its time limit")
    if by_signal:
        return End(result.exit_code, f"{before}killed by signal {result.exit_code - FIRST_SIGNAL_STATUS}")
    return End(result.exit_code, f"{before}exited with status {result.exit_code}")


def end_without_start(
    said: str, exit_code: int, *, stop_reason: str | None, unusable: bool, node: str, folder: str
) -> End | None:
    """The end of a job that is over and whose script did not begin to start the command; None if it says nothing about
    why. `unusable`: the node could not use the run folder."""
    if stop_reason is not None:
        return End(None, f"{said}: stopped before it started: {stop_reason}")
    if exit_code == NOT_TO_START_EXIT:
        return End(None, f"{said}: lost: another job had started its command, and no trace of that is left")
    if unusable:
        words = f"it could not be started: node {node} cannot use {folder}; that folder has to be on a file system"
        return End(UNUSABLE_EXIT, f"{said}: {words} which the nodes share, and belong to the user that jobs run as")
    return None


def not_started(reason: str, cause: FailureCause) -> End:
    return End(None, reason, refused=True, taken_back=True, cause=cause)


def blamed(end: End) -> End:
    """The end with its cause, and what to do about it."""
    if end.cause is not FailureCause.UNKNOWN or not end.exit_code:
        return end
    return replace(end, reason=JOB_ENDS.advised(end.reason), cause=JOB_ENDS.cause(end.reason))
