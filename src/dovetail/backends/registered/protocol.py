"""The messages between a registered node and the control plane.

A heartbeat carries reports; its reply carries orders. Messages may be lost, repeated or late, so both sides repeat
them: the control plane lists an attempt under `run` until the node has reported it, and under `stop` until the node
has reported its end. A node follows five rules:

- a key identifies an attempt for ever; an attempt that runs or has ended is never started again;
- ordered to run an attempt that has ended, it reports that end again;
- ordered to stop an unknown attempt, it reports `finished` without an exit code;
- ordered to stop a running attempt, it asks it to end, and kills it after `grace_s` of its order (null: its choice);
- it reports a lost attempt (the node restarted, the process is gone) as `finished` without an exit code, with a reason.

A heartbeat need not mention what has not changed.
"""

from dataclasses import dataclass
from typing import Literal

from dovetail.backends.contract import Assignment


class NotStarted(Exception):
    """The control plane is starting or stopping; the node repeats its heartbeat."""


@dataclass(frozen=True, slots=True)
class TaskReport:
    """A node's report on one attempt. `exit_code` None with `finished`: it was stopped or lost; `reason` says which."""

    key: str
    state: Literal["running", "finished"]
    exit_code: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class HeartbeatReply:
    """Attempts to start and keys to stop, oldest first."""

    run: list[Assignment]
    stop: list[str]
