"""The steps of a task's life that several events lead to: being stopped, ending, going back to wait.

Each keeps the counts, the queues and the gang in step, and leaves the room on the node to whoever knows that the task
is gone (`EngineState.release`).
"""

from heapq import heappush

from dovetail.engine.backfill.backfilling import started
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.groups import Group
from dovetail.engine.state.recoveries import Recovery
from dovetail.engine.state.timers import TimerKind
from dovetail.engine.state.work import QueuePlace, Work
from dovetail.model.command import Command, Stop, attempt_key
from dovetail.model.task import TaskId, TaskState
from dovetail.model.workloads.workload import Condition

#: Reasons of STOPPING that mean "to run elsewhere"; a restart tells by them.
EVICTING, PREEMPTING, CANCELLING, MOVING = "evicting", "preempting", "cancelling", "moving"
TO_RUN_ELSEWHERE = frozenset({EVICTING, PREEMPTING, MOVING})
#: Why a task waits again that gave way to a recovery.
MOVED = "moved"


def stop_task(
    state: EngineState, work: Work, task: TaskId, reason: str, *, evicting: bool, word: str = EVICTING
) -> list[Command]:
    """Tell it to stop: to run elsewhere if `evicting`, else for good."""
    live = work.task(task.replica)
    if live.state is TaskState.STOPPING:
        if live.evicting and not evicting:  # it was to run elsewhere and now is to end; never the other way round
            live.evicting, live.reason, live.message = False, CANCELLING, reason
            state.changes.touch_task(task)
        return []
    live.evicting = evicting
    work.move(live, TaskState.STOPPING, word if evicting else CANCELLING, reason)
    state.stopping[task] = None
    state.changes.touch_task(task)
    if not work.can_start:  # what waits of a gang waits for those that go, too
        dequeue(state, work)
    assert live.node is not None
    assert live.backend is not None
    return [Stop(task, live.node, live.backend, attempt_key(task, live.attempt), reason)]


def stop_all(state: EngineState, work: Work, reason: str, *, evicting: bool) -> list[Command]:
    """Every task of the workload that holds a node."""
    return [
        command
        for replica, live in list(work.tasks.items())
        if live.state.holds_node
        for command in stop_task(state, work, TaskId(work.id, replica), reason, evicting=evicting)
    ]


def end_task(
    state: EngineState, work: Work, task: TaskId, to: TaskState, reason: str, message: str, now: float
) -> list[Command]:
    """It is finished, one way or the other. A gang that cannot be whole any more ends with it."""
    live = work.task(task.replica)
    work.move(live, to, reason, message)
    live.finished_at = now
    if live.started_at is None and to is TaskState.SUCCEEDED:
        live.started_at = live.placed_at
    work.started_at = work.started_at if work.started_at is not None else live.started_at
    state.changes.touch_task(task)
    if work.done == work.replicas:
        state.finishing.append(work.id)
        began = live.started_at if live.started_at is not None else live.placed_at
        state.pending.ended(work, now, None if began is None else now - began)
    commands = keep_gang(state, work, now)
    requeue(state, work)  # one less runs: another may, where their number is limited
    return commands


def retry_task(
    state: EngineState, work: Work, task: TaskId, reason: str, message: str, now: float, delay_s: float = 0.0
) -> list[Command]:
    """Back to waiting, at once or later."""
    live = work.task(task.replica)
    work.move(live, TaskState.PENDING, reason, message)
    live.node = live.backend = None
    live.devices = ()
    live.placed_at = live.started_at = None
    live.evicting = False
    work.reason, work.message = reason, message
    state.changes.touch_task(task)
    state.timers.clear(TimerKind.EVICTION, task)
    if not work.waiting and not work.delayed:
        await_promotion(state, work, now)
    if delay_s > 0:
        work.delayed[task.replica] = now + delay_s
        state.changes.notes[work.id] = None
        state.timers.set(TimerKind.RETRY, task, now + delay_s)
    else:
        heappush(work.waiting, task.replica)
    commands = keep_gang(state, work, now)
    requeue(state, work)
    return commands


def await_promotion(state: EngineState, work: Work, since: float) -> None:
    """It waits since this moment: after a while that counts for more."""
    promotion = state.settings.promotion
    if promotion is not None and work.rank > promotion.most.rank:
        state.timers.set(TimerKind.PROMOTION, work.id, since + promotion.after)


def wait_again(state: EngineState, work: Work, replica: int) -> None:
    """The pause after a failure is over."""
    del work.delayed[replica]
    state.changes.notes[work.id] = None
    heappush(work.waiting, replica)
    requeue(state, work)


def requeue(state: EngineState, work: Work) -> None:
    """Its tasks have changed: it is looked at again if any of them may start, and else stands in nobody's way."""
    if work.can_start:
        state.pending.enqueue(work)
    else:
        dequeue(state, work)


def dequeue(state: EngineState, work: Work) -> None:
    """It waits no longer, or cannot start now: it is nobody's head and is promised nothing."""
    if work.queue_place is QueuePlace.NOWHERE:
        return
    waiting = state.pending
    kinds = (waiting.class_before(work) or waiting.equivalence_class(work), waiting.quota_class(work))
    waiting.remove(work)
    started(state, work)
    for kind in kinds:  # those behind it were to come when it was served
        following = waiting.first_in_class(kind)
        if following is not None:
            waiting.enqueue(state.work[following])


def keep_gang(state: EngineState, work: Work, now: float) -> list[Command]:
    """A gang is whole or not at all: what is left of a broken one gives its nodes back and waits for the others, and
    one that cannot be whole again fails."""
    if work.group is not None:
        return _keep_group(state, work, work.group, now)
    if work.terms.loose:
        return []
    firm = work.holding - work.stopping
    if (
        not work.terms.gang_min
        or work.terminal_reason
        or work.cancelled
        or firm + work.succeeded >= work.terms.gang_min
    ):
        return []
    lost = work.done - work.succeeded
    if work.replicas - lost < work.terms.gang_min:
        words = f"{lost} of {work.replicas} tasks failed, and the gang needs {work.terms.gang_min}"
        return fail_workload(state, work, "gang_failed", words, now)
    if _keeps_its_nodes(state, work, firm, now):
        return []
    work.recovery = None  # what was kept for it is given back as soon as this event is dealt with
    if firm:
        return stop_all(state, work, f"its gang fell below {work.terms.gang_min} tasks", evicting=True)
    return []


def _keep_group(state: EngineState, work: Work, group: Group, now: float) -> list[Command]:
    """The same for a group. Members that were cancelled are missed by the others, who wait for somebody in their
    place."""
    if work.terminal_reason:
        return []
    commands: list[Command] = []
    if group.short and not group.is_loose:
        failed = group.failed
        if failed and group.tasks - group.lost < group.least <= group.tasks:
            words = f"{failed} of the {group.tasks} tasks of group {group.name} failed, and it needs {group.least}"
            for member in list(group.members.values()):
                if not member.terminal_reason and not member.cancelled:
                    commands += fail_workload(state, member, "gang_failed", words, now)
            return commands
        fresh = state.recoveries.newly_lost
        if group.firm and state.settings.recovery.enabled and any(member in fresh for member in group.members):
            group.mending = True
        if group.leader is None:  # nobody is there who could take the place of those it lost
            group.mending = False
        if group.firm and not group.mending:
            words = f"its group {group.name} fell below {group.least} tasks"
            for member in list(group.members.values()):
                commands += stop_all(state, member, words, evicting=True)
    regroup(state, group)
    return commands


def regroup(state: EngineState, group: Group) -> None:
    """Who of it stands in line now: the first for all of them, or everybody for itself."""
    short, leader = group.short, group.leader
    for work in list(group.members.values()):
        if work.is_ready and (work is leader if short else True):
            if short or work.queue_place is QueuePlace.NOWHERE:
                state.pending.enqueue(work)
        else:
            dequeue(state, work)


def _keeps_its_nodes(state: EngineState, work: Work, firm: int, now: float) -> bool:
    """A gang that lost tasks with their nodes, and nothing else, is made whole again where that can be done
    (`recovery`); what is left of it stays meanwhile."""
    lost = state.recoveries.newly_lost.get(work.id)
    if not firm or not state.settings.recovery.enabled or work.delayed:
        return False
    if lost is None:
        return work.recovery is not None and work.reason == MOVED
    if work.recovery is None:
        work.recovery = Recovery(now)
        state.recoveries.broken_gangs[work.id] = None
    work.recovery.lost |= lost
    state.changes.notes[work.id] = None
    return True


def fail_workload(state: EngineState, work: Work, reason: str, message: str, now: float) -> list[Command]:
    """Nothing of it may start any more: what waits fails, what runs is stopped."""
    work.terminal_reason = reason
    work.reason, work.message = reason, message
    return fail_waiting(state, work, reason, message, now) + stop_all(state, work, message, evicting=False)


def fail_waiting(
    state: EngineState,
    work: Work,
    reason: str,
    message: str,
    now: float,
    to: TaskState = TaskState.FAILED,
    only_new: bool = False,
) -> list[Command]:
    """End what waits; with `only_new` what has never had a node."""
    replicas = sorted([*work.waiting, *work.delayed])
    chosen = [replica for replica in replicas if not only_new or not work.task(replica).attempt]
    kept = set(replicas) - set(chosen)
    work.waiting = sorted(kept - set(work.delayed))  # sorted is a heap
    for replica in chosen:
        if work.delayed.pop(replica, None) is not None:
            state.timers.clear(TimerKind.RETRY, TaskId(work.id, replica))
            state.changes.notes[work.id] = None
    dequeue(state, work)
    commands: list[Command] = []
    for replica in chosen:
        commands += end_task(state, work, TaskId(work.id, replica), to, reason, message, now)
    return commands


def release_dependents(state: EngineState, now: float) -> list[Command]:
    """Workloads that ended: those that waited for them may start, or fail because they never can."""
    commands: list[Command] = []
    while state.finishing:
        ended = state.finishing.popleft()
        work = state.work[ended]
        for id_ in state.dependents.pop(ended, ()):
            other = state.work.get(id_)
            if other is None or ended not in other.after:
                continue
            condition = other.after.pop(ended)
            state.changes.notes[id_] = None
            if condition is Condition.SUCCEEDED and work.succeeded < work.replicas:
                words = f"it was to start after {work.name} succeeded, which it did not"
                commands += fail_workload(state, other, "dependency_failed", words, now)
            elif not other.after:
                other.reason = other.message = ""
                state.changes.workloads[id_] = None
                state.pending.enqueue(other)
    return commands
