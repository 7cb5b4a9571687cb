"""Would a workload be placed whole if something were different? Tried on the real state, and rolled back.

Guarantees: nothing is changed. The pipeline that decides places all tasks that may run at once, one after the other,
within quotas and with promises to others kept. Where tasks are many and nodes are judged by their own rows alone,
copies are counted instead, with the same result. A gang with a layout is arranged as it would be for real. The effort
is limited by the number of nodes evaluated; what exceeds the limit counts as not fitting.
Left to others: what to try (`remedies`, `measures`, `looser_layouts`).
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.views.view import View
from dovetail.engine.gangs.headroom import Headroom
from dovetail.engine.gangs.one_by_one import TrialSubject
from dovetail.engine.planning.plan import PlanTrial, at_once, identity_for, over_quota
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import Work
from dovetail.model.requests.shape import Shape
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload
from dovetail.placement.contract import Request

_NO_WORKLOAD = -1
#: Copies of one task that are placed one by one rather than counted.
_MOST_PLACED = 32
#: Nodes that one question may evaluate, over all decisions. A shape with a ranking cache evaluates all nodes about
#: twice, and few for each task after that.
_MOST_LOOKED_AT = 200_000
_CACHE_PASSES, _NODES_PER_CACHED_TASK = 2, 200
#: Laying out a gang evaluates all nodes about so often: which may take it, how many tasks, and sums over domains.
_ARRANGING = 3


class FitTrial:
    """For one workload: as it was defined (`spec`), and `work` if it is live."""

    def __init__(self, state: EngineState, spec: Workload, work: Work | None, now: float) -> None:
        self.state, self.spec, self.work, self.now = state, spec, work, now
        self.shape = work.shape if work is not None else state.terms(spec).shape
        self._left = _MOST_LOOKED_AT
        self.owner = _NO_WORKLOAD if work is None else work.id
        self.held = 0 if work is None else work.holding  # tasks of it that hold a node
        self.wanted = at_once(spec)  # tasks that want a node now: what waits of it, as far as it may run at once
        if work is not None:
            most = work.terms.concurrency - work.holding if work.terms.concurrency else work.replicas
            self.wanted = max(0, min(len(work.waiting), most))

    def request(self, shape: Shape | None = None) -> Request:
        return PlanTrial(self.state, self.spec, shape or self.shape, self.now, self.owner).request()

    def subject(self, shape: Shape) -> TrialSubject:
        return TrialSubject(self.owner, shape, identity_for(self.spec, shape))

    def left_for_each(self, count: int) -> dict[str, float]:
        """By resource that a quota is short of: what each of so many tasks could have."""
        queue = self.state.router.queue(self.spec.queue, self.spec.namespace)
        amounts = {name: amount * count for name, amount in self.shape.amounts}
        found: dict[str, float] = {}
        while (over := self.state.accounts.quotas.over(queue, self.spec.user, amounts)) is not None:
            amounts[over.resource] = left = max(0, over.limit - over.used)
            found[over.resource] = left / count
        return found

    @contextmanager
    def as_new(self) -> Iterator[None]:
        """As if it had just been submitted: none of its tasks holds a node."""
        placed = self.state.cluster.placements.by_task
        own = [] if self.work is None else [TaskId(self.work.id, replica) for replica in self.work.tasks]
        with self._without([task for task in own if task in placed]):
            yield

    def copies(self) -> F8:
        """float64[node]: how many of its tasks each node that allows it has room for."""
        request, view = self.request(self.shape.least), View(self.state.cluster)
        evaluator = self.state.pipelines[self.shape.profile].evaluator
        rows = np.flatnonzero(evaluator.run_filters(request, view).alive)
        found = np.zeros(view.size)
        if len(rows):
            found[rows] = Headroom(evaluator, request, view).copies(rows, request.needs)
        return found

    # --- questions -------------------------------------------------------------------------------------------

    def fits_as(self, spec: Workload) -> bool:
        """Would it fit with this definition, if its present tasks were not there?"""
        shape = self.state.terms(spec).shape
        with self.as_new():
            return self._fits(spec, shape, at_once(spec), self.now)

    def fits_without(self, tasks: Iterable[TaskId], at: float | None = None) -> bool:
        """If these tasks were gone; with `at`, at that moment."""
        with self._without(tasks):
            return self._fits(self.spec, self.shape, self.wanted, self.now if at is None else at)

    def fits_with(self, node: str) -> bool:
        """If a node were uncordoned, which also ends its quarantine."""
        with self.state.cluster.trial():
            self.state.cluster.set_cordoned(node, False)
            self.state.cluster.set_quarantined(node, "")
            return self._fits(self.spec, self.shape, self.wanted, self.now)

    def how_many_fit(self, most: int) -> int:
        """Of so many of its tasks, within promises to others; at most as many as one question may place."""
        request = self.request()
        headroom = self._headroom(request, self.shape)
        if headroom.is_exact and not _is_arranged(self.spec, self.shape):
            return min(most, headroom.total())
        while most > 0 and 2 * self._price(self.spec, request, most) > self._left:
            most //= 2
        self._left -= self._price(self.spec, request, most)
        return PlanTrial(self.state, self.spec, self.shape, self.now, self.owner).count(most)

    # --- the answer ------------------------------------------------------------------------------------------

    def _fits(self, spec: Workload, shape: Shape, count: int, now: float) -> bool:
        if over_quota(self.state, spec, count) is not None:
            return False
        trial = PlanTrial(self.state, spec, shape, now, self.owner)
        request = trial.request()
        headroom = self._headroom(request, shape)
        price = self._price(spec, request, count)
        if headroom.is_exact:
            if headroom.total() < count:
                return False
            if (count > _MOST_PLACED or price > self._left) and not _is_arranged(spec, shape):
                return True
        if price > self._left:
            return False
        self._left -= price
        return trial.count(count) == count

    def _price(self, spec: Workload, request: Request, count: int) -> int:
        """The number of nodes that placing so many tasks evaluates."""
        nodes = self.state.cluster.width
        if spec.gang is not None and _is_arranged(spec, request.shape):
            return _ARRANGING * nodes + count + nodes * max(0, count - spec.gang.min)
        if request.non_local or request.promised is not None or count == 1:
            return nodes * count
        return _CACHE_PASSES * nodes + _NODES_PER_CACHED_TASK * count

    def _headroom(self, request: Request, shape: Shape) -> Headroom:
        evaluator = self.state.pipelines[shape.profile].evaluator
        return Headroom(evaluator, replace(request, shape=shape.least), View(self.state.cluster))

    @contextmanager
    def _without(self, tasks: Iterable[TaskId]) -> Iterator[None]:
        """As if these tasks held no node: their capacity is free, and their queues are not charged for them."""
        state, gone = self.state, list(tasks)
        with state.cluster.trial(), state.accounts.usage.without([state.work[task.workload].held for task in gone]):
            for task in gone:
                state.cluster.remove(task)
            yield


def _is_arranged(spec: Workload, shape: Shape) -> bool:
    """Is it placed as a whole, by domains? Then free capacity on single nodes does not show whether it fits."""
    return spec.gang is not None and spec.gang.min > 1 and shape.layout is not None
