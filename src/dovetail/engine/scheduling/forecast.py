"""Expected starts of waiting work: the queue planned forward in its order, with usual run times.

The expected start comes from that plan. The range around it comes from the errors of earlier forecasts
(`queueing.start_error`). Work whose start depends on something without a known end has no expected start. Nothing is
decided here and nothing is promised.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, islice

from dovetail.cluster.arrays import B1, F8
from dovetail.cluster.horizon import NEVER, Horizon, Release
from dovetail.cluster.views.view import View
from dovetail.engine.pieces import Pieces, whole
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import QueuePlace, Work
from dovetail.model.requests.shape import Shape
from dovetail.model.task import TaskId
from dovetail.queueing.run_times import extended_estimate_s

#: The first so many workloads are planned; the others have no forecast yet.
PLANNED = 200
_TASKS_PLANNED = 16  # of one workload that does not start together
_GRACE_S = 10.0
_SAMPLED = 20
_SAMPLE_EVERY_S = 10.0
_SAMPLE_EVERY = 16  # workloads that were parked


@dataclass(frozen=True, slots=True)
class StartGuess:
    """Seconds since the epoch."""

    early: float
    expected: float
    late: float


def guesses(state: EngineState, now: float) -> Pieces[dict[int, StartGuess]]:
    """By workload; those without a forecast are left out."""
    starts = yield from expected_starts(state, now, PLANNED)
    return {id_: guess(state, expected, now) for id_, expected in starts.items()}


def guess(state: EngineState, expected: float, now: float) -> StartGuess:
    early_s, late_s = state.learned.calibration.range(max(0.0, expected - now))
    return StartGuess(min(now + early_s, expected), expected, max(now + late_s, expected))


def expected_starts(state: EngineState, now: float, most: int) -> Pieces[dict[int, float]]:
    """Every waiting workload, in order, gets the first slot that those before it leave."""
    horizon = _horizon(state, now)
    masks: dict[Shape, B1] = {}
    found: dict[int, float] = {}
    for id_ in list(islice(in_order(state, now), most)):
        yield
        work = state.work[id_]
        if work.queue_place is QueuePlace.OVER_QUOTA:
            continue
        promise = state.promises.of_work.get(id_)
        if promise is not None and promise.clearing:  # as soon as its victims are gone
            found[id_] = now + _GRACE_S
            continue
        start = _plan(state, horizon, work, _mask(state, work.shape, masks))
        if start is not None:
            found[id_] = start
    return found


def in_order(state: EngineState, now: float) -> Iterator[int]:
    """Everything that waits for capacity: scheduler by scheduler, each in its order."""
    for name, queue in state.pending.by_scheduler.items():
        blocked = state.pending.blocked[name]
        if queue.ordering.by_tenant:
            yield from [*blocked, *queue.in_order(now)]
        else:
            yield from sorted([*queue, *blocked], key=lambda id_: (state.pending.key(state.work[id_]), id_))


def sample(state: EngineState, now: float) -> None:
    """Record the forecast of waiting work now and then, to compare it with the real start."""
    if state.learned.parked_since_sample < _SAMPLE_EVERY or now < state.learned.sampled_at + _SAMPLE_EVERY_S:
        return
    state.learned.sampled_at, state.learned.parked_since_sample = now, 0
    for id_, expected in whole(expected_starts(state, now, _SAMPLED)).items():
        state.learned.expected_starts.setdefault(id_, (now, expected))


def learn(state: EngineState, work: Work, now: float) -> None:
    """The work starts: learn from the error of its forecast."""
    at, start = state.learned.expected_starts.pop(work.id)
    state.learned.calibration.learn(start - at, now - at)


def _plan(state: EngineState, horizon: Horizon, work: Work, mask: B1) -> float | None:
    column = state.request(work.shape).column
    run_s = state.learned.run_times.expected_s(state.owner(work), work.terms.run_s)
    together = work.gang_short
    first: float | None = None
    for _ in range(1 if together else min(len(work.waiting), _TASKS_PLANNED)):
        slot = horizon.earliest(mask, column, max(1, together), NEVER if run_s is None else run_s)
        if slot is None:
            break
        first = slot.start if first is None else first
        end = NEVER if run_s is None else slot.start + run_s
        for row, same in groupby(sorted(slot.rows)):
            horizon.occupy(row, slot.start, end, column * len(list(same)))
    return first


def _mask(state: EngineState, shape: Shape, masks: dict[Shape, B1]) -> B1:
    if shape not in masks:
        evaluator = state.pipelines[shape.profile].evaluator
        masks[shape] = evaluator.run_filters(state.request(shape), View(state.cluster)).feasible_ignoring_capacity
    return masks[shape]


def _horizon(state: EngineState, now: float) -> Horizon:
    """Capacity over time by expected run times, with reservations. Promises to heads of queues are planned again."""
    ends = []
    for task in state.ends.tasks():
        placement = state.cluster.placements.by_task[task]
        ends.append(Release(_expected_end(state, task, now), placement.row, placement.column))
    ends.sort(key=lambda release: release.at)
    by_row: dict[int, list[tuple[float, F8]]] = {}
    for release in ends:
        by_row.setdefault(release.row, []).append((release.at, release.column))
    horizon = Horizon(state.promises.free_with_held(), now, ends, lambda row: by_row.get(row, ()))
    state.promises.occupy_reservations(horizon, now)
    return horizon


def _expected_end(state: EngineState, task: TaskId, now: float) -> float:
    work = state.work[task.workload]
    live = work.task(task.replica)
    began = live.started_at if live.started_at is not None else live.placed_at
    assert began is not None
    run_s = state.learned.run_times.expected_s(state.owner(work), work.terms.run_s)
    if run_s is None:
        return NEVER
    end = began + run_s
    return end if end > now else max(began + extended_estimate_s(run_s, now - began, work.terms.run_s), now + 1.0)
