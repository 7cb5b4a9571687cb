"""One scheduling cycle: take workloads from the pending queues in order, place their tasks, park what fits nowhere.

Guarantees: about `limit` decisions a cycle, with the queues of all schedulers taking turns. Every refusal is recorded
with its reason. Leaves to others: what happens after a refusal (`group_placing`), and when parked work is queued again
(`waking`).
"""

from dovetail.engine.applications.nominating import drop_nominations, nominate_application, nominated_row
from dovetail.engine.backfill.backfilling import keep_promises, refused, started, wake_after_withdrawals
from dovetail.engine.gangs.requests import record_refusal, request_of, waits_on
from dovetail.engine.policies.policy_changes import apply_adjustments
from dovetail.engine.preemption.savings import preempt_to_save
from dovetail.engine.scheduling.forecast import learn, sample
from dovetail.engine.scheduling.group_placing import must_wait, place_group, relax_or_preempt
from dovetail.engine.scheduling.placement_committer import PlacementCommitter
from dovetail.engine.scheduling.reordering import reorder
from dovetail.engine.scheduling.timetabling import keep_timetable
from dovetail.engine.scheduling.waking import wake_next, wake_parked
from dovetail.engine.scheduling.watches import needs_watch, watch_for_changes
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import GroupPart, QueuePlace, Work
from dovetail.model.command import Command
from dovetail.model.event import Tick
from dovetail.model.reason import Explanation, Outcome
from dovetail.model.task import TaskId
from dovetail.placement.contract import Request
from dovetail.placement.pipeline.pipeline import WITH_APPLICATION, Choice


def schedule(state: EngineState, tick: Tick, now: float) -> list[Command]:
    """At most about `tick.limit` decisions, the queues of all schedulers taking turns."""
    if state.policies.adjusting:
        apply_adjustments(state, now)
    state.accounts.refresh_capacity()
    keep_promises(state, now)
    if state.pending.dynamic_orderings:
        reorder(state, now)
    wake_parked(state)
    commands: list[Command] = []
    left = tick.limit
    requests = state.requests
    while left > 0:
        busy = False
        for scheduler in state.backfill_states:
            work = _next(state, scheduler, now)
            if work is None or left <= 0:
                continue
            busy = True
            before = requests.effort
            left -= _decide(state, work, left, now, commands)
            if tick.by_effort:
                left -= requests.effort - before
        if not busy:
            break
    left -= keep_timetable(state, left, now)
    commands += preempt_to_save(state, now)
    wake_after_withdrawals(state)
    state.spent = tick.limit - left
    state.cluster.trim_log()
    sample(state, now)
    return commands


def has_waiting(state: EngineState, now: float) -> bool:
    """Is there anything to decide right now?"""
    if state.timetable.search is not None:
        return True
    if any(len(queue) and not _held_up(state, name, now) for name, queue in state.pending.by_scheduler.items()):
        return True
    changed = state.wake.dirty_rows or (state.wake.watches and state.wake.watched != state.wake.event_count)
    changed = changed or any(seen != state.wake.event_count for seen in state.wake.unsettled.values())
    if changed and any(map(len, state.pending.blocked.values())):
        return True
    return bool(state.pending.over_quota and state.wake.queues_freed)


def _held_up(state: EngineState, scheduler: str, now: float) -> bool:
    """Its head cannot start, and no work may overtake the head."""
    backfill_state = state.backfill_states[scheduler]
    if (
        not backfill_state.backfill.strict
        or backfill_state.head is None
        or state.work[backfill_state.head].queue_place is QueuePlace.QUEUED
    ):
        return False
    first = state.pending.by_scheduler[scheduler].peek(now)
    if first is None or backfill_state.backfill.head == "sticky":
        return True
    return (state.pending.key(state.work[first]), first) > (
        state.pending.key(state.work[backfill_state.head]),
        backfill_state.head,
    )


def _next(state: EngineState, scheduler: str, now: float) -> Work | None:
    """The next workload to decide: the head if it may be tried, then the queue in its order or in order of arrival."""
    backfill_state, queue = state.backfill_states[scheduler], state.pending.by_scheduler[scheduler]
    if _held_up(state, scheduler, now):
        return None
    if backfill_state.head is not None and backfill_state.backfill.head == "sticky":
        head = state.work[backfill_state.head]
        if head.queue_place is QueuePlace.QUEUED:
            return head
        if backfill_state.backfill.candidates == "arrival":
            first = min(queue, default=None)
            return None if first is None else state.work[first]
    if queue.ordering.by_tenant:
        state.accounts.settle()  # the order follows from it
    id_ = queue.peek(now)
    return None if id_ is None else state.work[id_]


# --- one workload --------------------------------------------------------------------------------------------


def _decide(state: EngineState, work: Work, limit: int, now: float, commands: list[Command]) -> int:
    """Place what can be placed of a workload, and park it or leave it queued. Returns decisions made."""
    # Others of its equivalence class are next, if any were parked; nearly always none were.
    class_ = state.pending.class_before(work) or (
        state.pending.equivalence_class(work) if state.pending.parked else None
    )
    quota_class = state.pending.quota_class(work) if state.pending.over_quota else None
    made, refusal = _place_waiting(state, work, limit, now, commands)
    if quota_class is not None and (refusal is None or refusal.outcome != Outcome.OVER_QUOTA):
        wake_next(state, quota_class)  # its quota allowed it, and perhaps allows more
    if made and work.id in state.learned.expected_starts and (refusal is None or made > 1):
        learn(state, work, now)
    if refusal is None:
        if not work.can_start:
            state.pending.remove(work)
            started(state, work)
            if class_ is not None:
                wake_next(state, class_)
        return made
    drop_nominations(state, work)
    if refusal.outcome == Outcome.OVER_QUOTA:
        state.pending.park_over_quota(work)
        started(state, work)
        return made
    parked_class = state.pending.park(work)
    if parked_class is None:
        if needs_watch(state, work):
            state.wake.unsettled.setdefault(work.shape.scheduler, state.wake.event_count)
    else:
        watch_for_changes(state, work, parked_class)
        if class_ is not None and parked_class != class_:
            wake_next(state, class_)  # what refused it does not concern the others
    if refusal.outcome != Outcome.PREEMPTING:
        refused(state, work, now)
    return made


def _place_waiting(
    state: EngineState, work: Work, limit: int, now: float, commands: list[Command]
) -> tuple[int, Explanation | None]:
    """Place the workload's waiting tasks until `limit`, or until one is refused. Returns decisions made, and why it
    cannot go on."""
    if work.waits is not None and waits_on(state, work, now):
        nodes = len(state.cluster.rows)
        return 0, Explanation(Outcome.WAITS_FOR_CHEAPER, work.message, work.shape.profile, nodes, ())
    made = 0
    while made < limit and work.can_start:
        if work.group is not None and work.group.places_together:
            spent, refusal = place_group(state, work, now, commands)
        else:
            spent, refusal = _place_one_by_one(state, work, limit - made, now, commands)
        made += spent
        if refusal is not None:
            return made, refusal
    return made, None


def _place_one_by_one(
    state: EngineState, work: Work, limit: int, now: float, commands: list[Command]
) -> tuple[int, Explanation | None]:
    """The same for tasks that need not start with others."""
    made, refusal = 0, None
    if state.accounts.limited[work.queue] or state.pending.dynamic_orderings:
        refusal = must_wait(state, [GroupPart(work, work.waiting[:1])])
    if refusal is None:
        made, refusal = _place(state, work, limit, now, commands)
    if refusal is None:
        return made, None
    spent, refusal = relax_or_preempt(state, [GroupPart(work, work.waiting[:1])], refusal, now, commands)
    if refusal is not None:
        record_refusal(state, work, refusal, now)
    return made + spent, refusal


def _place(
    state: EngineState, work: Work, limit: int, now: float, commands: list[Command]
) -> tuple[int, Explanation | None]:
    """As many tasks as find a node, up to the limit."""
    pipeline = state.pipelines[work.shape.profile]
    request = request_of(state, work, now)
    # Each task by itself where it changes what the next may do: promises, quotas, the number that may run.
    alone = request.promised is not None or state.accounts.limited[work.queue] or work.terms.concurrency > 0
    most = 1 if alone else limit
    repeats = len(work.waiting) > 1
    committer = PlacementCommitter(state, work, request, now, commands)
    refusal = None
    expected_row = _expected_row(state, work)
    if expected_row is None:
        nominate_application(state, work, now)
    while work.waiting and committer.made < most:
        task = TaskId(work.id, work.waiting[0])
        if pipeline.evaluator.minds_outlook:
            state.learned.mix.refresh()
        choice = _as_expected(state, work, request, expected_row, task.replica)
        expected_row = None
        if choice is None:
            choice = pipeline.decide(request, task, repeats=repeats)
        if choice.row is None:
            refusal = choice.explanation
            break
        committer.take(choice)
    return committer.close(), refusal


def _as_expected(
    state: EngineState, work: Work, request: Request, expected_row: int | None, replica: int
) -> Choice | None:
    """Choose the node that is expected, or that the search of its application found, if that node may take it."""
    pipeline = state.pipelines[work.shape.profile]
    if expected_row is not None:
        return pipeline.decide_at(request, expected_row)
    row = nominated_row(state, work, replica)
    choice = None if row is None else pipeline.decide_at(request, row, WITH_APPLICATION)
    if choice is not None:
        choice.explanation = choice.explanation.with_notes(work.application)
    return choice


def _expected_row(state: EngineState, work: Work) -> int | None:
    """The node that victims were evicted from for it, or its nominated node."""
    promise = state.promises.of_work.get(work.id)
    if promise is not None and promise.clearing:
        return promise.rows[0][0]
    return state.cluster.rows.get(work.nominated)
