"""Reprieving as many victims as can stay, node by node in trials: for tasks whose filters read more than amounts.

Guarantees: the cluster is not changed. The search stops once it has found as many nodes to choose from as
kube-scheduler wants.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from dovetail.cluster.arrays import B1, Rows
from dovetail.cluster.placements import Placement
from dovetail.cluster.state import Cluster
from dovetail.cluster.views.view import View
from dovetail.model.task import TaskId
from dovetail.placement.contract import EvictionHelps, Request
from dovetail.placement.filters.pod_affinity import let_off
from dovetail.placement.pipeline.evaluation import Evaluator
from dovetail.placement.preemption.nomination import (
    Nomination,
    Preemptor,
    RankedNomination,
    order_of,
    with_whole_gangs,
)

#: This many nodes are enough to choose from, or this share of all candidates.
ENOUGH, ENOUGH_SHARE = 100, 0.1


class Trials:
    """Node by node, with every filter."""

    def __init__(self, cluster: Cluster, evaluator: Evaluator, pod: Preemptor) -> None:
        self._cluster, self._evaluator, self._pod, self._request = cluster, evaluator, pod, pod.request
        self._gone: dict[TaskId, Placement] = {}  # on the node that is tried

    def candidates(self) -> B1:
        """Rows that are refused only by filters whose answer may change when others are evicted."""
        view = View(self._cluster)
        found = view.present.copy()
        refused = np.zeros(view.size, dtype=np.bool_)
        lonely = np.zeros(view.size, dtype=np.bool_)
        for plugin in self._evaluator.filters:
            answer, _ = self._evaluator.mask(plugin, self._request, view)
            if answer is True:
                continue
            if plugin.eviction_helps is EvictionHelps.NEVER:
                found &= answer
            elif plugin.eviction_helps is EvictionHelps.WITH_OTHERS:
                lonely |= np.logical_not(answer)
            else:
                refused |= np.logical_not(answer)
        return found & (~lonely | refused)

    def best(self, rows: Rows) -> RankedNomination | None:
        enough = max(ENOUGH, int(len(rows) * ENOUGH_SHARE))
        best: RankedNomination | None = None
        tried = 0
        for row in rows.tolist():
            found = with_whole_gangs(self._pod, self._cluster.placements, partial(self._on, row))
            if found is None:
                continue
            tried += 1
            best = found if best is None else min(best, found)
            if tried >= enough and best.order[0] == 0:
                break
        return best

    def _on(self, row: int, broken: Sequence[int] = ()) -> RankedNomination | None:
        """`broken`: gangs that go in any case."""
        placements, gangs = self._cluster.placements, self._pod.gangs
        lower = [
            (task, placement)
            for task in placements.by_row[row]
            if (placement := placements.by_task[task]).victim_info.priority < self._pod.priority
            and placement.victim_info.preemptible
            and (gangs is None or not gangs.spares(task))
        ]
        if not lower:
            return None
        lower.sort(key=lambda one: (-one[1].victim_info.priority, one[1].victim_info.since, one[0]))
        over = self._pod.budgets.overrun([(task, placement.identity) for task, placement in lower])
        self._gone = {}
        with self._cluster.trial():
            for task, _ in lower:
                self._take(task)
            if not self._fits(row):
                return None
            victims = self._let_back(row, lower, over, broken)
        if not victims:
            return None
        violating = {task for (task, _), one in zip(lower, over, strict=True) if one}
        violations = sum(task in violating for task, _ in victims)
        order = order_of(
            row,
            violations,
            [one.victim_info.priority for _, one in victims],
            [one.victim_info.since for _, one in victims],
        )
        return RankedNomination(order, Nomination(row, tuple([task for task, _ in victims]), violations))

    def _let_back(
        self, row: int, lower: list[tuple[TaskId, Placement]], over: list[bool], broken: Sequence[int]
    ) -> list[tuple[TaskId, Placement]]:
        victims = {task for task, was in lower if broken and was.victim_info.unit in broken}
        for (task, was), _ in sorted(zip(lower, over, strict=True), key=lambda one: not one[1]):
            if task in victims:
                continue
            self._put(task, was)
            if not self._fits(row):
                self._take(task)
                victims.add(task)
        return [one for one in lower if one[0] in victims]

    def _take(self, task: TaskId) -> None:
        self._gone[task] = self._cluster.remove(task)

    def _put(self, task: TaskId, was: Placement) -> None:
        self._gone.pop(task, None)
        self._cluster.place(task, was.row, was.column, was.service, was.victim_info, was.identity, slots=was.slots)

    def _fits(self, row: int) -> bool:
        """With the nominated tasks and without them: they may end up elsewhere."""
        coming = self._pod.coming.on(row)
        if coming:
            with self._cluster.trial():
                for task, placement in coming.items():
                    self._put(task, placement)
                if not self._passes(row):
                    return False
        return self._passes(row)

    def _passes(self, row: int) -> bool:
        here = View(self._cluster).subset(np.array([row], dtype=np.intp))
        return bool(self._evaluator.run_filters(self._asked(), here).alive[0])

    def _asked(self) -> Request:
        pod = self._request.shape.kubernetes
        if pod is None or not pod.spread:
            return self._request
        spread = let_off(pod.spread, [placement.identity for placement in self._gone.values()])
        if spread == pod.spread:
            return self._request
        return replace(self._request, shape=replace(self._request.shape, kubernetes=pod._replace(spread=spread)))
