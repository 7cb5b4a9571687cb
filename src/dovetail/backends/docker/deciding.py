"""Decides the next step of one attempt from the journal and the engine. Pure.

    container         journal: ordered                 journal: stopping
    ----------------  -------------------------------  --------------------------------------
    none              create it; ended, if it existed  ended, as requested
                      and was removed by others
    created           start it                         ended, as requested; remove it
    could not start   ended: the command is unusable   the same
                      (126, 127), or refused
    running           at rest                          stop it
    exited            ended with its exit code         the same, or as requested if we have
                                                       sent the stop

A container is started only in the state "created", where it has never run: starting an exited container would run it
twice.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from dovetail.backends.attempt_journal import Record, State
from dovetail.backends.docker.container import GRACE_S, RUN_FOR_S
from dovetail.backends.docker.failures import FAILURES
from dovetail.backends.hosts.attempt_step import AttemptAction, AttemptStep
from dovetail.model.text.quantity import show_bytes

UNUSABLE_EXIT, NOT_FOUND_EXIT = 126, 127  # as shells and Docker use them
FIRST_SIGNAL_STATUS = 128
KILLED_EXIT = FIRST_SIGNAL_STATUS + 9
USUAL_GRACE_S = 10  # Docker's default
_NAMED_SIGNALS = {1: "SIGHUP", 2: "SIGINT", 6: "SIGABRT", 9: "SIGKILL", 11: "SIGSEGV", 15: "SIGTERM"}


class Stage(StrEnum):
    CREATED = "created"
    UNSTARTABLE = "unstartable"
    RUNNING = "running"
    EXITED = "exited"


@dataclass(frozen=True, slots=True)
class Seen:
    """A container as its engine describes it. Times are in the host's clock."""

    stage: Stage
    exit_code: int = 0
    out_of_memory: bool = False
    error: str = ""
    started_at: float | None = None
    memory_limit_bytes: int = 0
    grace_s: int = USUAL_GRACE_S
    run_for_s: float | None = None


def seen_in(inspected: dict[str, Any]) -> Seen:
    state, labels = inspected["State"], inspected["Config"].get("Labels") or {}
    started_at = moment(state.get("StartedAt", ""))
    exit_code, error = int(state.get("ExitCode", 0)), str(state.get("Error", ""))
    if state.get("Running") or state.get("Paused") or state.get("Restarting"):
        stage = Stage.RUNNING
    elif started_at is not None:
        stage = Stage.EXITED
    else:
        stage = Stage.UNSTARTABLE if exit_code or error else Stage.CREATED
    return Seen(
        stage=stage,
        exit_code=exit_code,
        out_of_memory=bool(state.get("OOMKilled")),
        error=error,
        started_at=started_at,
        memory_limit_bytes=int((inspected.get("HostConfig") or {}).get("Memory") or 0),
        grace_s=int(labels.get(GRACE_S, USUAL_GRACE_S)),
        run_for_s=float(labels[RUN_FOR_S]) if RUN_FOR_S in labels else None,
    )


def moment(text: str) -> float | None:
    """Seconds since the epoch of a timestamp in Go's format; None for its zero, which means never."""
    if not text or text.startswith("0001-"):
        return None
    return datetime.fromisoformat(text).timestamp()


def decide(record: Record, seen: Seen | None) -> AttemptStep:
    if record.state is State.ENDED:
        return AttemptStep(AttemptAction.REPORT)
    stopping = record.state is State.STOPPING
    words = record.stop_reason or "stopped"
    asked = AttemptStep(AttemptAction.END, record.stop_code, words, ran=record.stop_sent, remove=True)
    if seen is None:
        if stopping:
            return asked
        if not record.created:
            return AttemptStep(AttemptAction.MAKE)
        lost = "lost: its container was removed from the host by somebody else"
        return AttemptStep(AttemptAction.END, None, lost, ran=True)
    if seen.stage is Stage.CREATED:
        return asked if stopping else AttemptStep(AttemptAction.START)
    if seen.stage is Stage.UNSTARTABLE:
        return asked if stopping else could_not_start(seen.exit_code, seen.error)
    if seen.stage is Stage.RUNNING:
        return AttemptStep(AttemptAction.STOP if stopping else AttemptAction.REST)
    if stopping and record.stop_sent:
        return AttemptStep(AttemptAction.END, record.stop_code, words, ran=True)
    return AttemptStep(AttemptAction.END, seen.exit_code, how_it_ended(seen), ran=True)


def could_not_start(exit_code: int, words: str) -> AttemptStep:
    """A missing or unusable command has an exit code, as in a shell; anything else is a refusal."""
    by_command = exit_code in (UNUSABLE_EXIT, NOT_FOUND_EXIT)
    reason = f"its command could not be started: {words}" if by_command else f"it could not be started: {words}"
    return AttemptStep(AttemptAction.END, exit_code if by_command else None, FAILURES.advised(reason), remove=True)


def how_it_ended(seen: Seen) -> str:
    """Under load, Docker may record the exit before the kernel's notice of memory, and then never mentions memory. So a
    kill under a memory limit that nobody requested is put down to memory, with the doubt that remains."""
    limit = f" (its limit is {show_bytes(seen.memory_limit_bytes)})" if seen.memory_limit_bytes else ""
    if seen.out_of_memory:
        return FAILURES.advised(f"out of memory{limit}: killed with exit status {seen.exit_code}")
    if limit and seen.exit_code == KILLED_EXIT:
        return FAILURES.advised(f"out of memory{limit}, most likely: killed with exit status {seen.exit_code}")
    signal = _NAMED_SIGNALS.get(seen.exit_code - FIRST_SIGNAL_STATUS)
    words = f"exit status {seen.exit_code}" + (f" ({signal})" if signal else "")
    return f"{words}: {seen.error}" if seen.error else words
