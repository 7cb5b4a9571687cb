"""While the head of a queue waits: its promised start, and who may run ahead of it.

A promise is made when a workload is refused and may claim one, made anew whenever something changed and it is refused
again, and withdrawn when it starts or another takes its place at the head.
"""

from itertools import groupby

from dovetail.cluster.horizon import NEVER, Slot
from dovetail.cluster.view import View
from dovetail.engine.promises import Promise
from dovetail.engine.state import Course, EngineState
from dovetail.engine.work import Spot, Work
from dovetail.model.task import TaskId
from dovetail.queueing.run_times import outlived


def keep_promises(state: EngineState, now: float) -> None:
    """Before deciding: work that runs longer than expected moves promises, and who holds one is looked at first."""
    sticky = all(course.backfill.head == "sticky" for course in state.courses.values())
    late = not sticky and len(state.ends) and state.ends.first <= now
    if late:
        state.ends.extend(now, lambda task, at: now + _longer_s(state, task, at, now))
    for name, course in state.courses.items():
        if not course.backfill.promises:
            continue
        if course.backfill.mode == "conservative" and (late or state.stirred):
            _begin_again(state, name)
        elif course.head is not None and late:
            plan(state, state.work[course.head], now)


def refused(state: EngineState, work: Work, now: float) -> None:
    """It was just set aside: make it the head if it is, and promise it what it may be promised."""
    name = work.shape.scheduler
    course = state.courses[name]
    if course.backfill.mode == "off":
        return
    if course.backfill.mode == "conservative":
        if len(state.promises.of_work) < course.backfill.depth:
            plan(state, work, now)
        return
    before = course.head
    if before is None or course.backfill.head == "first":
        course.head = state.waiting.blocked[name].peek()
    if before is not None and before != course.head:
        _withdraw(state, before)
    if course.head == work.id and course.backfill.promises:
        plan(state, work, now)


def started(state: EngineState, work: Work) -> None:
    """It waits for room no longer; the next in order is looked at before anyone behind it."""
    _withdraw(state, work.id)
    name = work.shape.scheduler
    course = state.courses[name]
    if course.head in (None, work.id):
        course.head = None
        following = state.waiting.blocked[name].peek()
        if following is not None and course.backfill.mode != "off":
            state.waiting.enqueue(state.work[following])


def wake_heads(state: EngineState) -> None:
    """What heads and owners of promises wait for concerns nobody else of their kind: they are looked at themselves."""
    heads = [course.head for course in state.courses.values() if course.head is not None and len(state.ends)]
    for id_ in (*heads, *state.promises.of_work):
        if state.work[id_].spot is Spot.PARKED:
            state.waiting.enqueue(state.work[id_])


def plan(state: EngineState, work: Work, now: float) -> None:
    """Promise the workload its earliest start, if that can be told."""
    old = state.promises.of_work.get(work.id)
    course = state.courses[work.shape.scheduler]
    sticky = course.backfill.head == "sticky"
    as_of = (now, state.cluster.changes)
    # Two heads that plan around each other could go on for ever: nothing new has happened since it was promised.
    if old is not None and (old.clearing or sticky or old.as_of == as_of):
        return
    state.promises.withdraw(work.id)
    slot = earliest(state, work, now)
    if slot is None or (slot.start <= now and not sticky):
        _stir(state, old)
        return
    promise = _promise(state, course, work, slot, as_of)
    state.promises.make(work.id, promise)
    if not promise.same_as(old):
        _stir(state, old)


def earliest(state: EngineState, work: Work, now: float) -> Slot | None:
    """When what waits of it together could start, if everything goes as expected and all other promises are kept."""
    request = state.request(work.shape)
    evaluator = state.pipelines[work.shape.profile].evaluator
    mask = evaluator.sift(request, View(state.cluster)).but_for_room
    run_s = state.expected_s(work)
    horizon = state.promises.horizon(now, work.id, work.namespace)
    return horizon.earliest(mask, request.column, max(1, work.gang_short), NEVER if run_s is None else run_s)


def _promise(state: EngineState, course: Course, work: Work, slot: Slot, as_of: tuple[float, int]) -> Promise:
    run_s = state.expected_s(work)
    column = state.request(work.shape).column
    rows = tuple((row, column * len(list(same))) for row, same in groupby(sorted(slot.rows)))
    end = NEVER if run_s is None else slot.start + run_s
    return Promise(work.name, slot.start, end, rows, spare=course.backfill.spare, as_of=as_of)


def _withdraw(state: EngineState, work: int) -> None:
    _stir(state, state.promises.withdraw(work))


def _stir(state: EngineState, promise: Promise | None) -> None:
    """Others may have room now where there was a promise."""
    if promise is not None and not promise.clearing:
        state.stirred.update(row for row, _ in promise.rows)


def _begin_again(state: EngineState, scheduler: str) -> None:
    """All promises of a line are made anew, in its order: somebody may start earlier than was promised."""
    for id_ in [id_ for id_ in state.promises.of_work if state.work[id_].shape.scheduler == scheduler]:
        if not state.promises.of_work[id_].clearing:
            state.promises.withdraw(id_)
            if state.work[id_].spot is Spot.PARKED:
                state.waiting.enqueue(state.work[id_])


def _longer_s(state: EngineState, task: TaskId, at: float, now: float) -> float:
    """How much longer a task is taken to run that should have ended at a moment that has passed."""
    work = state.work[task.workload]
    since = work.task(task.replica).placed_at
    began = at if since is None else since
    total_s = outlived(at - began, now - began, work.terms.run_s)
    return max(total_s - (now - began), 1.0)
