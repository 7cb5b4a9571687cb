"""The messages between a registered node and the control plane.

A heartbeat carries reports; its reply carries orders. Messages may be lost, repeated or late, so both sides repeat
them: the control plane lists an attempt under `run` until the node has reported it, and under `stop` until the node
has reported its end. A node follows five rules:

- a key identifies an attempt for ever; an attempt that runs or has ended is never started again;
- ordered to run an attempt that has ended, it reports that end again;
- ordered to stop an unknown attempt, it reports `finished` without an exit code;
- ordered to stop a running attempt, it asks it to end, and kills it after `grace_s` of its order (null: its choice), or
  at once if `kill` names it too;
- it reports a lost attempt (the node restarted, the process is gone) as `finished` without an exit code, with a reason.

A heartbeat need not mention what has not changed.

An agent may also wait for its orders (`GET /nodes/NAME/orders`): the answer comes as soon as there is something new.
Who does that is asked for the output of tasks, too (`calls`).
"""

from dataclasses import dataclass, field
from typing import Literal

from dovetail.backends.contract import Assignment
from dovetail.backends.registered.calls import NodeCall
from dovetail.model.task_flows import TaskFlows
from dovetail.model.task_use import TaskUse


class NotStarted(Exception):
    """The control plane is starting or stopping; the node repeats its heartbeat."""


@dataclass(frozen=True, slots=True)
class TaskReport:
    """A node's report on one attempt. `exit_code` None with `finished`: it was stopped or lost; `reason` says which.
    `use` and `flows`: measured since the last report, if at all."""

    key: str
    state: Literal["running", "finished"]
    exit_code: int | None = None
    reason: str = ""
    use: TaskUse | None = None
    flows: TaskFlows | None = None


@dataclass(frozen=True, slots=True)
class HeartbeatReply:
    """Attempts to start and keys to stop, oldest first; of the latter, those that get no grace; questions; and the
    number of the latest change, after which the agent waits for the next."""

    run: list[Assignment]
    stop: list[str]
    kill: list[str] = field(default_factory=list)
    calls: list[NodeCall] = field(default_factory=list)
    version: int = field(default=0, compare=False)
