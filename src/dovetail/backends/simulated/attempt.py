"""One attempt in the simulated world: its fate, its progress and its log.

It keeps what reports and logs need, not the workload, whose definition may be large: ten thousand attempts are
remembered. Times are virtual seconds since the epoch.

A log is a few lines with their times. It only grows, so byte offsets stay valid, and it is ASCII, so a chunk never cuts
a character.
"""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from dovetail.backends.contract import LogChunk
from dovetail.backends.simulated.rehearsal import Fate
from dovetail.model.event import TaskFinished
from dovetail.model.resources import Amounts
from dovetail.model.task import TaskId
from dovetail.model.text.quantity import format_duration

QUARTERS = (0.25, 0.5, 0.75)
FIRST_SIGN_OF_LIFE_S = 60.0


@dataclass(slots=True, eq=False)
class SimulatedAttempt:
    key: str
    task: TaskId
    node: str
    title: str  # the workload's name, for the log
    command: list[str]
    fate: Fate | None  # None: stopped before it was ever bound
    amounts: Amounts | None  # its request; kept only if use is observed
    grace_s: float = 0.0  # from the stop to the kill
    stop_reason: str | None = None  # it was stopped and is in its grace period
    started_at: float | None = None
    ended_at: float | None = None
    end: TaskFinished | None = None

    @property
    def runs(self) -> bool:
        return self.started_at is not None and self.end is None


def read_log(attempt: SimulatedAttempt, now: float, offset: int, limit: int) -> LogChunk:
    """At most `limit` bytes from `offset`; empty after the end."""
    whole = b"".join(written for _, written in _written(attempt, now))
    start = min(max(offset, 0), len(whole))
    chunk = whole[start : start + max(limit, 0)]
    next_offset = start + len(chunk)
    return LogChunk(chunk.decode("ascii"), next_offset, attempt.end is not None and next_offset == len(whole))


def line_starts(attempt: SimulatedAttempt, now: float) -> list[tuple[float, int]]:
    """When each line was written and its offset; last, now and the offset of what comes next."""
    found, offset = [], 0
    for at, written in _written(attempt, now):
        found.append((at, offset))
        offset += len(written)
    return [*found, (now, offset)]


def _written(attempt: SimulatedAttempt, now: float) -> Iterator[tuple[float, bytes]]:
    for at, line in _lines(attempt, now):
        yield at, f"{_clock(at)} {line}\n".encode("ascii", "backslashreplace")


def _clock(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def _lines(attempt: SimulatedAttempt, now: float) -> Iterator[tuple[float, str]]:
    started_at = attempt.started_at
    if started_at is not None:
        yield started_at, f"{attempt.title} starts on {attempt.node}: {shlex.join(attempt.command) or '(no command)'}"
        until = now if attempt.ended_at is None else attempt.ended_at
        run_time_s = attempt.fate.run_time_s if attempt.fate is not None else None
        yield from _signs_of_life(started_at, until) if run_time_s is None else _progress(started_at, run_time_s, until)
    if attempt.end is not None and attempt.ended_at is not None:
        yield attempt.ended_at, f"ends: {attempt.end.reason}"


def _progress(started_at: float, run_time_s: float, until: float) -> Iterator[tuple[float, str]]:
    for share in QUARTERS:
        at = started_at + share * run_time_s
        if at < until:
            yield at, f"{share:.0%} done"


def _signs_of_life(started_at: float, until: float) -> Iterator[tuple[float, str]]:
    """The intervals double, so that the log of a year stays short."""
    passed_s = FIRST_SIGN_OF_LIFE_S
    while started_at + passed_s < until:
        yield started_at + passed_s, f"still running after {format_duration(passed_s)}"
        passed_s *= 2
