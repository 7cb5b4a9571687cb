"""Victims: what kube-scheduler proposes to delete for a pod, looked at by our own rules.

Guarantees: a node stays in the answer only if the pod would fit there by our filters once its victims are gone; where
it would not, but would with more of the less urgent pods of that node gone, those are added, as few as can be, and
counted against disruption budgets as kube-scheduler counts them. Nobody is deleted for a pod of a gang unless the whole
gang would fit then, and only where it would lie.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dovetail.cluster.views.view import View
from dovetail.engine.engine import Engine
from dovetail.engine.gangs.group_trial import Tried
from dovetail.engine.state.groups import Group, GroupPart
from dovetail.kubernetes.extender.deciding import Asked, Deciding
from dovetail.kubernetes.extender.wire import (
    ExtenderPreemptionArgs,
    ExtenderPreemptionResult,
    MetaVictims,
    meta_victims,
)
from dovetail.kubernetes.scheduler.following import Following
from dovetail.kubernetes.scheduler.known import Place
from dovetail.model.task import TaskId
from dovetail.placement.preemption.nomination import Budgets, NominatedPlacements
from dovetail.placement.preemption.reprieve_trials import Trials


class _Clearing(NamedTuple):
    """The nodes that a gang is to lie on when those have gone that are in its way."""

    nodes: tuple[str, ...]
    since_s: float


class Preempting:
    def __init__(
        self, engine: Engine, following: Following, deciding: Deciding, keep_s: float, now: Callable[[], float]
    ) -> None:
        self._state, self._deciding = engine.state, deciding
        self._ledger, self._objects = following.ledger, following.objects
        self._keep_s, self._now = keep_s, now
        self._clearing: dict[Place, _Clearing] = {}

    def preempt(self, args: ExtenderPreemptionArgs) -> ExtenderPreemptionResult:
        """Raises Unreadable."""
        self._deciding.refresh()
        asked, proposed = self._deciding.read(args.pod), args.proposed()
        rows = self._state.cluster.rows
        nodes = {name: rows[name] for name in proposed if name in rows}
        gang = (asked.place[0], asked.meaning.gang) if asked.meaning.gang else None
        with self._deciding.keeping.counted(asked.meaning.priority, but=asked.place, but_gang=gang):
            if asked.meaning.gang:
                nodes = self._where_its_gang_lies(asked, nodes)
            budgets = Budgets(self._objects.budgets()) if nodes else Budgets(())
            judged = {name: self._judged(asked, row, proposed[name], budgets) for name, row in nodes.items()}
        found = {name: one for name, one in judged.items() if one is not None}
        return ExtenderPreemptionResult(node_name_to_meta_victims=found)

    def _judged(self, asked: Asked, row: int, proposed: MetaVictims, budgets: Budgets) -> MetaVictims | None:
        """The victims that it takes there; None: they would go in vain."""
        by_uid = self._on(row)
        victims = [by_uid[uid] for uid in proposed.uids if uid in by_uid]
        if self._fits(asked, row, victims):
            return proposed
        asked = self._deciding.ask_again(asked)
        trials = Trials(
            self._state.cluster, asked.evaluator, asked.request, asked.meaning.priority, budgets, NominatedPlacements()
        )
        best = trials.best(np.array([row], dtype=np.intp))
        if best is None:
            return None
        more = [task for task in best.nomination.victims if task not in victims]
        everyone = [*victims, *more]
        if not self._fits(asked, row, everyone):
            return None
        uids = {task: uid for uid, task in by_uid.items()}
        named = [*proposed.uids, *[uids[task] for task in more if task in uids]]
        return meta_victims(named, self._violations(asked, row, everyone, budgets))

    def _fits(self, asked: Asked, row: int, without: list[TaskId]) -> bool:
        cluster = self._state.cluster
        with cluster.trial():
            for task in without:
                cluster.remove(task)
            now = self._deciding.ask_again(asked)
            here = View(cluster).subset(np.array([row], dtype=np.intp))
            return bool(now.evaluator.run_filters(now.request, here).alive[0])

    def _violations(self, asked: Asked, row: int, victims: list[TaskId], budgets: Budgets) -> int:
        """Of the victims, those that overrun a budget if everyone less urgent on the node had to go."""
        placements = self._state.cluster.placements
        lower = [
            (task, one)
            for task in placements.by_row[row]
            if (one := placements.by_task[task]).victim_info.priority < asked.meaning.priority
        ]
        lower.sort(key=lambda pair: (-pair[1].victim_info.priority, pair[1].victim_info.since, pair[0]))
        over = budgets.overrun([(task, one.identity) for task, one in lower])
        non_local = {task for (task, _), one in zip(lower, over, strict=True) if one}
        return sum(task in non_local for task in victims)

    def _on(self, row: int) -> dict[str, TaskId]:
        """Pods on a node, by uid."""
        known = self._ledger.by_id
        on_row = self._state.cluster.placements.by_row[row]
        return {known[task.workload].uid: task for task in on_row if task.workload in known}

    def _where_its_gang_lies(self, asked: Asked, nodes: dict[str, int]) -> dict[str, int]:
        """Of the nodes those that pods like this one go to when everyone less urgent is gone there; none if even then
        there is no place for the whole gang. Its other pods are asked about too: room is made for all in one place."""
        known = self._deciding.known(asked)
        gang = None if known is None else known.gang
        group = None if gang is None else self._state.groups.named(*gang)
        if known is None or gang is None or group is None or self._deciding.plans.lacks(gang, group):
            return {}
        begun = self._rows_of(gang)
        parts, tried = self._tried_without(asked, gang, group, {*nodes.values(), *begun}, begun)
        if tried.refusal is not None:
            return {}
        every = {row for choices in tried.choices if (row := choices[0].row) is not None}
        self._clearing[gang] = _Clearing(tuple(self._state.cluster.names[row] for row in every), self._now())
        shape = self._state.work[known.id].shape
        each = zip(parts, tried.choices, strict=True)
        planned = {choices[0].row for part, choices in each if part.work.shape == shape}
        return {name: row for name, row in nodes.items() if row in planned}

    def _tried_without(
        self, asked: Asked, gang: Place, group: Group, cleared: set[int], begun: set[int]
    ) -> tuple[list[GroupPart], Tried]:
        """With everyone less urgent gone from these rows, where making room has begun if it can be there."""
        cluster, plans = self._state.cluster, self._deciding.plans
        with cluster.trial():
            for row in cleared:
                for task in list(cluster.placements.by_row[row]):
                    victim_info = cluster.placements.by_task[task].victim_info
                    if task.workload in self._ledger.by_id and victim_info.priority < asked.meaning.priority:
                        cluster.remove(task)
            if begun:
                others = np.ones(cluster.width, dtype=np.bool_)
                others[list(begun)] = False
                parts, tried = plans.tried(gang, group, others)
                if tried.refusal is None:
                    return parts, tried
            return plans.tried(gang, group)

    def _rows_of(self, gang: Place) -> set[int]:
        """Where room is being made for a gang."""
        now, rows = self._now(), self._state.cluster.rows
        self._clearing = {place: one for place, one in self._clearing.items() if now <= one.since_s + self._keep_s}
        found = self._clearing.get(gang)
        return set() if found is None else {rows[name] for name in found.nodes if name in rows}
