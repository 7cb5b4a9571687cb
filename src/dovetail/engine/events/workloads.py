"""Handlers for workloads: submit, cancel, scheduling deadline and promotion."""

from dovetail.engine.lifecycle.task_lifecycle import await_promotion, dequeue, fail_waiting, regroup, requeue, stop_all
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.terms import terms_of
from dovetail.engine.state.timers import TimerKind
from dovetail.engine.state.work import Group, Work
from dovetail.model.command import Command
from dovetail.model.event import CancelAsked, Submitted
from dovetail.model.reason import Outcome
from dovetail.model.task import TaskState
from dovetail.model.workloads.workload import Condition

DEPENDENCY = Outcome.DEPENDENCY
INCOMPLETE = "group_incomplete"


def submitted(state: EngineState, event: Submitted, now: float) -> list[Command]:
    """Raises what routing raises for an unknown scheduler, profile or queue."""
    spec = event.spec
    terms = terms_of(state.router, spec)
    work = Work(
        id=event.workload,
        namespace=spec.namespace,
        name=spec.name,
        rank=spec.priority.rank,
        replicas=spec.replicas,
        terms=terms,
        queue=state.router.queue(terms.queue, spec.namespace),
        submitted_at=now,
        after=dict(event.after),
    )
    work.waiting.extend(range(spec.replicas))
    if work.after:
        work.reason, work.message = DEPENDENCY, _waits_for(state, work.after)
        state.changes.notes[work.id] = None
    admit_workload(state, work, now)
    return []


def admit_workload(state: EngineState, work: Work, now: float) -> None:
    """Make the workload live and enqueue its pending tasks."""
    if state.policies:
        work.set_shape(state.policies.effective_shape(work.terms, work.namespace, work.name))
    set_timers(state, work, now)
    state.learned.mix.record_submission(work.shape, work.replicas)
    state.admit(work)
    state.changes.workloads[work.id] = None
    if work.group is not None and not work.group.is_solo:
        _join(state, work.group)


def _join(state: EngineState, group: Group) -> None:
    """The group has a new member and may be complete now."""
    if group.tasks < group.least:
        words = f"its group {group.name} has {group.tasks} of {group.least} tasks"
        for member in group.members.values():
            if not member.reason or member.reason == INCOMPLETE:
                member.reason, member.message = INCOMPLETE, words
                state.changes.workloads[member.id] = None
        return
    for member in group.members.values():
        if member.reason == INCOMPLETE:
            member.reason = member.message = ""
            state.changes.workloads[member.id] = None
    regroup(state, group)


def set_timers(state: EngineState, work: Work, waits_since: float) -> None:
    """Timers of a pending workload."""
    if work.terms.schedule_within_s is not None:
        state.timers.set(TimerKind.DEADLINE, work.id, work.submitted_at + work.terms.schedule_within_s)
    await_promotion(state, work, waits_since)


def cancel_asked(state: EngineState, event: CancelAsked, now: float) -> list[Command]:
    work = state.work.get(event.workload)
    if work is None:
        return []
    dequeue(state, work)  # while it still counts as what it was queued as
    work.cancelled = True
    work.reason, work.message = "cancelled", event.reason
    state.changes.workloads[work.id] = None
    commands = fail_waiting(state, work, "cancelled", event.reason, now, to=TaskState.CANCELLED)
    return commands + stop_all(state, work, event.reason, evicting=False)


def deadline_passed(state: EngineState, workload: int, now: float) -> list[Command]:
    """Fail the tasks that were never placed."""
    work = state.work.get(workload)
    if work is None or work.cancelled:
        return []
    new = [replica for replica in work.waiting if not work.task(replica).attempt]
    if not new:
        return []
    why = f": {work.message}" if work.message else ""
    message = f"not placed within {work.terms.schedule_within_s:g} s{why}"
    return fail_waiting(state, work, "timeout", message, now, only_new=True)


def promoted(state: EngineState, workload: int, now: float) -> list[Command]:
    """It has waited long enough for the next higher priority class."""
    work, promotion = state.work.get(workload), state.settings.promotion
    if work is None or promotion is None or not work.waiting or work.rank <= promotion.most.rank:
        return []
    dequeue(state, work)
    work.rank -= 1
    state.changes.notes[work.id] = None
    requeue(state, work)
    await_promotion(state, work, now)
    return []


def _waits_for(state: EngineState, after: dict[int, Condition]) -> str:
    names = [f"{state.work[id_].name} ({condition})" for id_, condition in after.items()]
    return f"starts after {', '.join(names)}"
