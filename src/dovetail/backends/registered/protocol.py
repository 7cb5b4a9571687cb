"""What a registered node and the control plane tell each other.

A heartbeat carries reports; its reply carries orders. Either may be lost, come twice or come late, so both sides repeat
themselves: the control plane names an attempt under `run` until the node has reported it, and under `stop` until the
node has reported its end. A node keeps five rules:

- an attempt is known by its key for ever; one that runs or has ended is never started again;
- told to run what it has ended, it reports that end again;
- told to stop what it never had, it reports `finished` without an exit code;
- told to stop what it runs, it asks it to end, and kills it when `grace_s` of its order is over (null: as it likes);
- what it lost (it was restarted, the process is gone) it reports as `finished` without an exit code and says why.

A heartbeat need not mention what has not changed.
"""

from dataclasses import dataclass
from typing import Literal

from dovetail.backends.contract import Assignment


class NotStarted(Exception):
    """The control plane is starting or stopping; the node repeats its heartbeat."""


@dataclass(frozen=True, slots=True)
class TaskReport:
    """What a node says of one attempt. `exit_code` None with `finished`: it was stopped or lost, as `reason` says."""

    key: str
    state: Literal["running", "finished"]
    exit_code: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class HeartbeatReply:
    """Attempts to start and keys to end, oldest first."""

    run: list[Assignment]
    stop: list[str]
