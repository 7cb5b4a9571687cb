"""The task lifecycle: the transitions that several events lead to. A task is stopped, ends, or becomes pending again.

Guarantees: each transition keeps the workload's counts, the pending queue and the group consistent. Leaves to others:
releasing the node's capacity, which the caller does once the task is known to be gone (`EngineState.release`).
"""

from bisect import bisect_left
from heapq import heappush

from dovetail.engine.backfill.backfilling import started
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.live_task import CANCELLING, EVICTING
from dovetail.engine.state.recoveries import Recovery
from dovetail.engine.state.timers import TimerKind
from dovetail.engine.state.work import Ending, Group, QueuePlace, Work
from dovetail.model.batch import EndedTogether
from dovetail.model.command import Command, Stop, attempt_key
from dovetail.model.task import TaskId, TaskState
from dovetail.model.workloads.workload import Condition

#: Tasks that one event ends or stops: a millisecond or two, and as much to write.
ENDED_AT_ONCE = 25
#: Why a task is pending that was moved for a recovery.
MOVED = "moved"


def stop_task(state: EngineState, task: TaskId, why: str, word: str = EVICTING) -> list[Command]:
    """Tell the task to stop: for good if `word` is CANCELLING, else to run elsewhere."""
    work = state.work[task.workload]
    live = work.task(task.replica)
    if live.state is TaskState.STOPPING:
        if live.is_evicted and word == CANCELLING:  # an eviction becomes a cancellation, never the other way round
            live.reason, live.message = CANCELLING, why
            state.changes.touch_task(task)
        return []
    work.move(live, TaskState.STOPPING, word, why)
    state.stopping[task] = None
    state.changes.touch_task(task)
    if not work.can_start:  # the pending tasks of a gang wait for the ones that are stopping
        dequeue(state, work)
    assert live.node is not None
    assert live.backend is not None
    return [Stop(task, live.node, live.backend, attempt_key(task, live.attempt), why)]


def stop_all(state: EngineState, work: Work, why: str, word: str = EVICTING) -> list[Command]:
    """Stop every task of the workload that holds a node."""
    return [
        command
        for replica, live in list(work.tasks.items())
        if live.state.holds_node
        for command in stop_task(state, TaskId(work.id, replica), why, word)
    ]


def end_task(state: EngineState, task: TaskId, to: TaskState, reason: str, message: str, now: float) -> list[Command]:
    """The task is finished, with or without success. A gang that can never be complete again fails with it."""
    work = state.work[task.workload]
    live = work.task(task.replica)
    work.move(live, to, reason, message)
    live.finished_at = now
    if live.started_at is None and to is TaskState.SUCCEEDED:
        live.started_at = live.placed_at
    work.started_at = work.started_at if work.started_at is not None else live.started_at
    state.changes.touch_task(task)
    began = live.started_at if live.started_at is not None else live.placed_at
    return _follow_end(state, work, now, None if began is None else now - began)


def _follow_end(state: EngineState, work: Work, now: float, ran_s: float | None) -> list[Command]:
    """A task of it has ended that ran so long."""
    if work.done == work.replicas:
        state.finishing.append(work.id)
        state.pending.ended(work, now, ran_s)
    commands = keep_gang(state, work, now)
    requeue(state, work)  # one task less runs: another may start where their number is limited
    return commands


def retry_task(
    state: EngineState, task: TaskId, reason: str, message: str, now: float, delay_s: float = 0.0
) -> list[Command]:
    """The task is pending again, at once or after a delay."""
    work = state.work[task.workload]
    live = work.task(task.replica)
    state.changes.attempt_ended(live.attempt_record(task, reason, message, now))
    work.move(live, TaskState.PENDING, reason, message)
    live.node = live.backend = live.exit_code = None
    live.devices = ()
    live.placed_at = live.started_at = None
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
    """It has waited since this moment: set the timer that raises its priority."""
    promotion = state.settings.promotion
    if promotion is not None and work.rank > promotion.most.rank:
        state.timers.set(TimerKind.PROMOTION, work.id, since + promotion.after)


def requeue(state: EngineState, work: Work) -> None:
    """Its tasks have changed: queue the workload if any of them may start, else remove it from the queue."""
    if work.can_start:
        state.pending.enqueue(work)
    else:
        dequeue(state, work)


def dequeue(state: EngineState, work: Work) -> None:
    """Remove a workload that cannot start now from the queue, with its promise and its place as head of the queue."""
    if work.queue_place is QueuePlace.NOWHERE:
        return
    waiting = state.pending
    kinds = (waiting.class_before(work) or waiting.equivalence_class(work), waiting.quota_class(work))
    waiting.remove(work)
    started(state, work)
    for kind in kinds:  # others of its equivalence class were parked behind it
        following = waiting.first_in_class(kind)
        if following is not None:
            waiting.enqueue(state.work[following])


def keep_gang(state: EngineState, work: Work, now: float) -> list[Command]:
    """Keep the rule that the gang or group of the workload is complete or holds no node: a broken one gives its nodes
    back and waits for the missing tasks, and one that can never be complete again fails. If a member was cancelled,
    the others wait for a replacement."""
    group = work.group
    if group is None or work.terminal_reason:
        return []
    commands: list[Command] = []
    if group.short and not group.is_loose:
        if group.failed and group.tasks - group.lost < group.least <= group.tasks:
            words = _failure_words(group)
            for member in list(group.members.values()):
                if not member.terminal_reason and not member.cancelled:
                    commands += fail_workload(state, member, "gang_failed", words, now)
            return commands
        keeps_nodes = _is_recovering(state, work, group, now) if group.is_solo else _seeks_replacements(state, group)
        if group.firm and not keeps_nodes:
            commands += give_nodes_back(state, group)
    regroup(state, group)
    return commands


def give_nodes_back(state: EngineState, group: Group, why: str = "") -> list[Command]:
    """Every task of a group that fell below its least stops, to start again with the others."""
    group.seeks_replacements = False
    name = "gang" if group.is_solo else f"group {group.name}"
    words = f"its {name} fell below {group.least} tasks" + (f": {why}" if why else "")
    members = list(group.members.values())
    return [command for member in members for command in stop_all(state, member, words)]


def _failure_words(group: Group) -> str:
    if group.is_solo:
        return f"{group.lost} of {group.tasks} tasks failed, and the gang needs {group.least}"
    return f"{group.failed} of the {group.tasks} tasks of group {group.name} failed, and it needs {group.least}"


def _is_recovering(state: EngineState, work: Work, group: Group, now: float) -> bool:
    """Does the gang of one workload keep its nodes? It does where it lost tasks with their nodes and nothing else:
    `recovery` then looks for replacements."""
    lost = state.recoveries.newly_lost.get(work.id)
    able = bool(group.firm) and state.settings.recovery.enabled and not work.delayed
    if able and lost is not None:
        if work.recovery is None:
            work.recovery = Recovery(now)
            state.recoveries.broken_gangs[work.id] = None
        work.recovery.lost |= lost
        state.changes.notes[work.id] = None
    elif not able or work.recovery is None or work.reason != MOVED:
        work.recovery = None  # the capacity kept for it is released as soon as this event is handled
    return work.recovery is not None


def _seeks_replacements(state: EngineState, group: Group) -> bool:
    """Does a group of several workloads keep its nodes? It does where it lost tasks with their nodes and others of its
    tasks can take their place: they are tried before anything else is given back (`group_placing`)."""
    newly_lost = state.recoveries.newly_lost
    if group.firm and state.settings.recovery.enabled and not newly_lost.keys().isdisjoint(group.members):
        group.seeks_replacements = True
    if group.leader is None:
        group.seeks_replacements = False
    return group.seeks_replacements


def regroup(state: EngineState, group: Group) -> None:
    """Queue its leader while it has to start together, else every member that is ready."""
    short, leader = group.short, group.leader
    for work in list(group.members.values()):
        if work.is_ready and (work is leader if short else True):
            if short or work.queue_place is QueuePlace.NOWHERE:
                state.pending.enqueue(work)
        else:
            dequeue(state, work)


def fail_workload(state: EngineState, work: Work, reason: str, message: str, now: float) -> list[Command]:
    """No task of it may start any more: pending ones fail, running ones are stopped."""
    if work.ending is not None:
        return []
    work.terminal_reason = reason
    return end_workload(state, work, Ending(TaskState.FAILED, reason, message), now)


def end_workload(state: EngineState, work: Work, ending: Ending, now: float) -> list[Command]:
    """From now on no task of it starts. Those that were never placed end at once. Of the others the first ones end at
    once and the rest with the next Ticks, so that nobody waits for the end of thousands."""
    dequeue(state, work)
    work.reason, work.message = ending.reason, ending.message
    work.ending = ending
    state.ending[work.id] = None
    state.changes.workloads[work.id] = None
    commands = _end_new(state, work, ending, now)
    more, _ = _end_some(state, work, ending, ENDED_AT_ONCE, now)
    if work.ending is not None:
        state.changes.notes[work.id] = None
    return commands + more


def _end_new(state: EngineState, work: Work, ending: Ending, now: float) -> list[Command]:
    """End its tasks that were never placed. There is nothing to say of each of ten thousand: the first ones have a
    record each, the others are told as a number."""
    new = [replica for replica in sorted(work.waiting) if replica not in work.tasks]
    each, together = new[:ENDED_AT_ONCE], set(new[ENDED_AT_ONCE:])
    commands = end_pending(state, work, each, ending.state, ending.reason, ending.message, now)
    if together:
        work.waiting = [replica for replica in work.waiting if replica not in together]  # sorted by now: a heap
        work.count(ending.state, len(together))
        ended = EndedTogether(work.id, len(together), ending.state, ending.reason, ending.message)
        state.changes.ended_together.append(ended)
        commands += _follow_end(state, work, now, None)
    return commands


def continue_endings(state: EngineState, now: float) -> list[Command]:
    """End some more tasks of the workloads that have such yet, oldest first."""
    commands: list[Command] = []
    left = ENDED_AT_ONCE
    for id_ in list(state.ending):
        work = state.work.get(id_)
        if work is None or work.ending is None:
            del state.ending[id_]
            continue
        while work.ending is not None and left > 0:
            more, ended = _end_some(state, work, work.ending, left, now)
            commands += more
            left -= ended
        if left <= 0:
            break
    return commands


def _end_some(state: EngineState, work: Work, ending: Ending, limit: int, now: float) -> tuple[list[Command], int]:
    """The next tasks of it, at most that many. Also returns how many of them had yet to end."""
    first = ending.next_replica
    chosen = range(first, min(first + limit, work.replicas))
    ending.next_replica = chosen.stop
    whole = chosen.stop >= work.replicas
    work.waiting.sort()  # sorted is a heap
    waiting = work.waiting[bisect_left(work.waiting, chosen.start) : bisect_left(work.waiting, chosen.stop)]
    pending = [*waiting, *[replica for replica in work.delayed if replica in chosen]]
    commands = end_pending(state, work, pending, ending.state, ending.reason, ending.message, now)
    live = [replica for replica in chosen if replica in work.tasks and work.tasks[replica].state.holds_node]
    for replica in live:
        commands += stop_task(state, TaskId(work.id, replica), ending.message, CANCELLING)
    if whole:
        if first:
            state.changes.notes[work.id] = None
        work.ending = None
        state.ending.pop(work.id, None)
    return commands, len(pending) + len(live)


def end_pending(
    state: EngineState, work: Work, pending: list[int], to: TaskState, reason: str, message: str, now: float
) -> list[Command]:
    """End these of its pending tasks."""
    chosen = sorted(pending)
    if chosen:
        work.waiting.sort()  # sorted is a heap
        first, stop = bisect_left(work.waiting, chosen[0]), bisect_left(work.waiting, chosen[-1] + 1)
        ended = set(chosen)
        work.waiting[first:stop] = [replica for replica in work.waiting[first:stop] if replica not in ended]
    for replica in chosen:
        if work.delayed.pop(replica, None) is not None:
            state.timers.clear(TimerKind.RETRY, TaskId(work.id, replica))
            state.changes.notes[work.id] = None
    dequeue(state, work)
    commands: list[Command] = []
    for replica in chosen:
        commands += end_task(state, TaskId(work.id, replica), to, reason, message, now)
    return commands


def release_dependents(state: EngineState, now: float) -> list[Command]:
    """Workloads have ended: those that depend on them may start, or fail because they never can."""
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
