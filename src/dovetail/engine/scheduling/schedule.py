"""A slice of deciding: take what waits in order, place it, set aside what fits nowhere, and say why."""

from dovetail.engine.backfill.backfilling import keep_promises, refused, started
from dovetail.engine.gangs.communication import note_communication
from dovetail.engine.gangs.gang_trial import try_together
from dovetail.engine.policies.policy_changes import apply_adjustments
from dovetail.engine.preemption.displacing import displace
from dovetail.engine.preemption.preempting import may_displace
from dovetail.engine.scheduling.forecast import learn, sample
from dovetail.engine.scheduling.group_placing import place_group
from dovetail.engine.scheduling.placement_committer import PlacementCommitter
from dovetail.engine.scheduling.reordering import reorder, short_work_refusal
from dovetail.engine.scheduling.requests import request_of, say
from dovetail.engine.scheduling.waking import wake_next, wake_parked
from dovetail.engine.scheduling.watches import needs_watch, watch_for_changes
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import QueuePlace, Work
from dovetail.model.command import Command
from dovetail.model.reason import Explanation, Outcome
from dovetail.model.task import TaskId
from dovetail.placement.contract import Request
from dovetail.placement.pipeline.pipeline import Choice

#: Looking for victims costs about as much as so many decisions.
_SEARCH_COST = 50


def schedule(state: EngineState, limit: int, now: float) -> list[Command]:
    """At most about `limit` decisions, the lines of all schedulers taking turns."""
    apply_adjustments(state, now)
    state.accounts.refresh_capacity()
    keep_promises(state, now)
    if state.pending.dynamic_orderings:
        reorder(state, now)
    wake_parked(state)
    commands: list[Command] = []
    left = limit
    while left > 0:
        busy = False
        for scheduler in state.backfill_states:
            work = _next(state, scheduler, now)
            if work is None or left <= 0:
                continue
            busy = True
            left -= _decide(state, work, left, now, commands)
        if not busy:
            break
    state.cluster.trim_log()
    sample(state, now)
    return commands


def has_waiting(state: EngineState, now: float) -> bool:
    """Is there something to decide right now?"""
    if any(len(line) and not _held_up(state, name, now) for name, line in state.pending.by_scheduler.items()):
        return True
    changed = state.wake.dirty_rows or (state.wake.watches and state.wake.watched != state.wake.event_count)
    changed = changed or any(seen != state.wake.event_count for seen in state.wake.unsettled.values())
    if changed and any(map(len, state.pending.blocked.values())):
        return True
    return bool(state.pending.over_quota and state.wake.queues_freed)


def _held_up(state: EngineState, scheduler: str, now: float) -> bool:
    """Nobody may overtake its head, and that one cannot start."""
    course = state.backfill_states[scheduler]
    if not course.backfill.strict or course.head is None or state.work[course.head].queue_place is QueuePlace.QUEUED:
        return False
    first = state.pending.by_scheduler[scheduler].peek(now)
    if first is None or course.backfill.head == "sticky":
        return True
    return (state.pending.key(state.work[first]), first) > (state.pending.key(state.work[course.head]), course.head)


def _next(state: EngineState, scheduler: str, now: float) -> Work | None:
    """Who is looked at next: the head if it may be tried, then the line in its order or in that of arrival."""
    course, line = state.backfill_states[scheduler], state.pending.by_scheduler[scheduler]
    if _held_up(state, scheduler, now):
        return None
    if course.head is not None and course.backfill.head == "sticky":
        head = state.work[course.head]
        if head.queue_place is QueuePlace.QUEUED:
            return head
        if course.backfill.candidates == "arrival":
            first = min(line, default=None)
            return None if first is None else state.work[first]
    if line.ordering.by_tenant:
        state.accounts.settle()  # the order follows from it
    id_ = line.peek(now)
    return None if id_ is None else state.work[id_]


# --- one workload --------------------------------------------------------------------------------------------


def _decide(state: EngineState, work: Work, limit: int, now: float, commands: list[Command]) -> int:
    """Place what can be placed of a workload, and see to where it waits afterwards. Returns decisions made."""
    # Whose turn it is afterwards, if any of its kind was set aside; nearly always nobody was.
    kind = state.pending.class_before(work) or (state.pending.equivalence_class(work) if state.pending.parked else None)
    quota_kind = state.pending.quota_class(work) if state.pending.over_quota else None
    made, refusal = _place_waiting(state, work, limit, now, commands)
    if refusal is None or refusal.outcome != Outcome.OVER_QUOTA:
        wake_next(state, quota_kind)  # its quota had room: perhaps for more
    if made and work.id in state.learned.expected_starts and (refusal is None or made > 1):
        learn(state, work, now)
    if refusal is None:
        if not work.can_start:
            state.pending.remove(work)
            started(state, work)
            wake_next(state, kind)
        return made
    if refusal.outcome == Outcome.OVER_QUOTA:
        state.pending.park_over_quota(work)
        started(state, work)
        return made
    parked_with = state.pending.park(work)
    if parked_with is None:
        if needs_watch(state, work):
            state.wake.unsettled.setdefault(work.shape.scheduler, state.wake.event_count)
    else:
        watch_for_changes(state, work, parked_with)
        if parked_with != kind:
            wake_next(state, kind)  # it was kept away by what does not concern the others
    if refusal.outcome != Outcome.PREEMPTING:
        refused(state, work, now)
    return made


def _place_waiting(
    state: EngineState, work: Work, limit: int, now: float, commands: list[Command]
) -> tuple[int, Explanation | None]:
    """Place the workload's waiting tasks until `limit`, or until one is refused. Returns decisions made, and why it
    cannot go on."""
    made = 0
    while work.can_start and made < limit:
        if work.group is not None and work.group.short:
            placed, refusal = place_group(state, work, now, commands)
            made += placed
            if refusal is not None:
                return made, refusal
            continue
        together = max(1, work.gang_short)
        refusal = _over_quota(state, work, together) or _keeps_lane(state, work, together)
        if refusal is None:
            request = request_of(state, work, now)
            placed, refusal = _place(state, work, request, together, limit - made, now, commands)
            made += placed
        if refusal is not None:
            made += 1
            if refusal.outcome != Outcome.OVER_QUOTA:
                eased = _with_less(state, work, together, now, commands)
                made += 1 if eased else 0
                if eased:
                    continue
                if may_displace(state, work.shape, work.rank):
                    made += _SEARCH_COST
                    refusal = displace(state, work, refusal, together, now, commands)
            say(state, work, refusal, now)
            return made, refusal
    return made, None


def _place(
    state: EngineState,
    work: Work,
    request: Request,
    together: int,
    limit: int,
    now: float,
    commands: list[Command],
) -> tuple[int, Explanation | None]:
    """Tasks one by one, as many as may be; or so many at once."""
    if together > 1:
        found = try_together(state, work, request, sorted(work.waiting)[:together])
        if found.refusal is not None:
            return 0, found.refusal
        note_communication(state, found.choices)
        return _take_all(PlacementCommitter(state, work, request, now, commands), found.choices), None
    pipeline = state.pipelines[work.shape.profile]
    # One by one where each changes what the next may do: promises, quotas, the number that may run.
    alone = request.promised is not None or state.accounts.limited[work.queue] or work.terms.concurrency > 0
    most = 1 if alone else limit
    repeats = len(work.waiting) > 1
    taking = PlacementCommitter(state, work, request, now, commands)
    refusal = None
    meant = _meant_for(state, work)
    while work.waiting and taking.made < most:
        task = TaskId(work.id, work.waiting[0])
        if pipeline.evaluator.minds_outlook:
            state.learned.mix.refresh()
        choice = None if meant is None else pipeline.decide_at(request, meant)
        meant = None
        if choice is None:
            choice = pipeline.decide(request, str(task), repeats=repeats)
        if choice.row is None:
            refusal = choice.explanation
            break
        taking.take(choice)
    return taking.close(), refusal


def _meant_for(state: EngineState, work: Work) -> int | None:
    """Where others gave way for it, which would be in vain if it went elsewhere; or where somebody expects it."""
    promise = state.promises.of_work.get(work.id)
    if promise is not None and promise.clearing:
        return promise.rows[0][0]
    return state.cluster.rows.get(work.nominated)


def _take_all(taking: PlacementCommitter, choices: list[Choice]) -> int:
    for choice in choices:
        taking.take(choice)
    return taking.close()


# --- when it does not fit ------------------------------------------------------------------------------------


def _over_quota(state: EngineState, work: Work, together: int) -> Explanation | None:
    if not state.accounts.limited[work.queue]:
        return None
    amounts = {name: amount * together for name, amount in work.shape.amounts}
    over = state.accounts.quotas.over(work.queue, work.terms.user, amounts)
    if over is None:
        return None
    return Explanation(Outcome.OVER_QUOTA, over.message, work.shape.profile, len(state.cluster.rows), ())


def _keeps_lane(state: EngineState, work: Work, together: int) -> Explanation | None:
    why = short_work_refusal(state, work, together) if state.pending.dynamic_orderings else None
    if why is None:
        return None
    return Explanation(Outcome.LANE_KEPT, why, work.shape.profile, len(state.cluster.rows), ())


def _with_less(state: EngineState, work: Work, together: int, now: float, commands: list[Command]) -> bool:
    """Try again without the wishes that are insisted on, giving up those of one priority at a time."""
    shape = work.shape
    given_up: list[str] = []
    while shape.insists:
        shape, words = shape.eased()
        given_up += words
        request = request_of(state, work, now, shape)
        found = try_together(state, work, request, sorted(work.waiting)[:together])
        if found.refusal is None:
            for choice in found.choices:
                choice.explanation.notes = (*choice.explanation.notes, f"gave up: {'; '.join(given_up)}")
            note_communication(state, found.choices)
            _take_all(PlacementCommitter(state, work, request, now, commands), found.choices)
            return True
    return False
