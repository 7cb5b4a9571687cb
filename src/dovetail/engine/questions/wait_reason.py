"""Why live work waits: the reason of its last refusal, or what keeps it out of the pending queue.

Work outside the queue was not refused by anything: its own limit, its group or the pause after a failure holds it back.
The engine records no reason for these, so they are read from the state when somebody asks.
"""

from typing import NamedTuple

from dovetail.engine.state.work import Group, QueuePlace, Work
from dovetail.model.reason import Outcome
from dovetail.model.text.listing import count


class WaitReason(NamedTuple):
    reason: str
    message: str


def waits(work: Work) -> bool:
    """Whether some of its tasks have no node."""
    return bool(work.waiting or work.delayed)


def wait_reason(work: Work, now: float) -> WaitReason:
    """Of work that waits."""
    if work.queue_place is QueuePlace.NOWHERE and not work.after and not work.terminal_reason:
        if not work.waiting and work.delayed:
            return WaitReason(Outcome.RETRY_DELAYED, _pause(work, now))
        if work.waiting and work.at_limit:
            return WaitReason(Outcome.CONCURRENCY, _own_limit(work))
        if work.group is not None and work.recovery is None and not work.group.may_queue(work):
            return WaitReason(Outcome.GROUP_INCOMPLETE, _group(work, work.group))
    return WaitReason(work.reason, work.message)


def _own_limit(work: Work) -> str:
    limit = work.terms.concurrency
    return f"its own limit of {count(limit, 'running task')} is reached (concurrency: {limit})"


def _pause(work: Work, now: float) -> str:
    left_s = max(0.0, min(work.delayed.values()) - now)
    tasks = count(len(work.delayed), "task")
    return f"{tasks} failed and will be tried again, the next in {left_s:.0f} s"


def _group(work: Work, group: Group) -> str:
    if group.tasks < group.least:
        name = f"group {group.name}" if group.name else "its gang"
        return f"{name} has {group.tasks:,} of the {group.least:,} tasks that start together; submit the others"
    leader = group.leader
    if leader is None or leader is work:
        return f"other tasks of group {group.name} cannot start yet" if group.name else "its gang cannot start yet"
    why = f": {leader.message}" if leader.message else ""
    return f"it starts together with {leader.name}{why}"
