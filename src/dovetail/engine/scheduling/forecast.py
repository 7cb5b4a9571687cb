"""Expected starts of waiting work: the queue planned forward in its order, with usual run times.

The expected start comes from that plan. The range around it comes from the errors of earlier forecasts
(`queueing.start_error`). Work whose start depends on something without a known end has no expected start. Nothing is
decided here and nothing is promised.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import merge
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


def guess(state: EngineState, expected: float, now: float) -> StartGuess:
    early_s, late_s = state.learned.calibration.range(max(0.0, expected - now))
    return StartGuess(min(now + early_s, expected), expected, max(now + late_s, expected))


class StartForecast:
    """When waiting work could start: each workload, in order, gets the first slot that those before it leave.

    No start depends on work that comes later, so the forecast goes only as far as the workload that was asked about.
    It holds for the state that it was made from and may be kept until that state changes."""

    def __init__(self, state: EngineState, now: float, most: int = PLANNED) -> None:
        self._state, self._now = state, now
        self._order = list(islice(in_order(state, now), most))
        self._places = {id_: place for place, id_ in enumerate(self._order, 1)}
        self._horizon: Horizon | None = None
        self._masks: dict[Shape, B1] = {}
        self._planned = 0
        self._found: dict[int, float] = {}

    def guesses(self, wanted: Iterable[int] | None = None) -> Pieces[dict[int, StartGuess]]:
        """By workload; those without a forecast are left out. `wanted`: only of these."""
        starts = yield from self.starts(wanted)
        return {id_: guess(self._state, expected, self._now) for id_, expected in starts.items()}

    def starts(self, wanted: Iterable[int] | None = None) -> Pieces[dict[int, float]]:
        """The same, without a range around it."""
        asked = self._order if wanted is None else [id_ for id_ in wanted if id_ in self._places]
        last = max((self._places[id_] for id_ in asked), default=0)
        if last and self._horizon is None:
            yield
            self._horizon = self._horizon or _horizon(self._state, self._now)
        while self._planned < last:  # somebody else may have gone on at the `yield`
            self._plan_next()
            yield
        return {id_: self._found[id_] for id_ in asked if id_ in self._found}

    def _plan_next(self) -> None:
        id_ = self._order[self._planned]
        self._planned += 1
        state, work = self._state, self._state.work[id_]
        if work.queue_place is QueuePlace.OVER_QUOTA:
            return
        promise = state.promises.of_work.get(id_)
        if promise is not None and promise.clearing:  # as soon as its victims are gone
            self._found[id_] = self._now + _GRACE_S
            return
        assert self._horizon is not None
        start = _plan(state, self._horizon, work, _mask(state, work.shape, self._masks))
        if start is not None:
            self._found[id_] = start


def in_order(state: EngineState, now: float) -> Iterator[int]:
    """Everything that waits for capacity: scheduler by scheduler, each in its order. Lazily: nobody needs all of it."""
    for name, queue in state.pending.by_scheduler.items():
        blocked = state.pending.blocked[name]
        if queue.ordering.by_tenant:
            yield from blocked
            yield from queue.in_order(now)
        else:
            yield from (id_ for _, id_ in merge(queue.items(), blocked.items()))


def sample(state: EngineState, now: float) -> None:
    """Record the forecast of waiting work now and then, to compare it with the real start."""
    if state.learned.parked_since_sample < _SAMPLE_EVERY or now < state.learned.sampled_at + _SAMPLE_EVERY_S:
        return
    state.learned.sampled_at, state.learned.parked_since_sample = now, 0
    for id_, expected in whole(StartForecast(state, now, _SAMPLED).starts()).items():
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
