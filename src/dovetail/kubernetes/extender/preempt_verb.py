"""The preempt verb: checks the victims that kube-scheduler proposes.

Guarantees: a node stays in the answer only if the pod fits there by our filters once its victims are gone. If it needs
more victims among the less urgent pods of that node, as few as possible are added and counted against disruption
budgets as kube-scheduler counts them. Nothing is evicted for a pod of a gang unless the whole gang fits then, and only
on nodes of the gang's arrangement.
"""

from collections.abc import Callable
from typing import NamedTuple

from dovetail.engine.questions.pod_answers import GangStatus, GangTrial
from dovetail.kubernetes.extender.filter_verb import AskedPod, FilterVerb
from dovetail.kubernetes.extender.wire import (
    ExtenderPreemptionArgs,
    ExtenderPreemptionResult,
    MetaVictims,
    meta_victims,
)
from dovetail.kubernetes.scheduler.cluster_informer import ClusterInformer
from dovetail.kubernetes_client.objects import NamespacedName
from dovetail.model.disruption_budget import DisruptionBudget
from dovetail.model.task import TaskId


class _Clearing(NamedTuple):
    """The nodes that are being cleared for a gang."""

    nodes: tuple[str, ...]
    since_s: float


class PreemptVerb:
    def __init__(
        self, informer: ClusterInformer, filter_verb: FilterVerb, keep_s: float, now: Callable[[], float]
    ) -> None:
        self._questions, self._nodes = informer.questions.pods, informer.questions.nodes
        self._filter_verb = filter_verb
        self._tracker, self._objects = informer.tracker, informer.objects
        self._keep_s, self._now = keep_s, now
        self._clearing: dict[NamespacedName, _Clearing] = {}

    def preempt(self, args: ExtenderPreemptionArgs) -> ExtenderPreemptionResult:
        """Raises UnreadablePod."""
        self._filter_verb.refresh()
        asked, proposed = self._filter_verb.read(args.pod), args.proposed()
        nodes = [name for name in proposed if name in self._nodes]
        gang = (asked.place[0], asked.meaning.gang) if asked.meaning.gang else None
        with self._filter_verb.held.counted(asked.meaning.priority, but=asked.place, but_gang=gang):
            if asked.meaning.gang:
                nodes = self._where_its_gang_lies(asked, nodes)
            budgets = self._objects.budgets() if nodes else []
            judged = {name: self._judged(asked, name, proposed[name], budgets) for name in nodes}
        found = {name: one for name, one in judged.items() if one is not None}
        return ExtenderPreemptionResult(node_name_to_meta_victims=found)

    def _judged(
        self, asked: AskedPod, node: str, proposed: MetaVictims, budgets: list[DisruptionBudget]
    ) -> MetaVictims | None:
        """The victims needed on the node; None: evicting them would not help."""
        by_uid = self._on(node)
        victims = [by_uid[uid] for uid in proposed.uids if uid in by_uid]
        if self._fits(asked, node, victims):
            return proposed
        needed = self._questions.victims_on(asked.meaning.query, node, budgets)
        if needed is None:
            return None
        more = [task for task in needed if task not in victims]
        everyone = [*victims, *more]
        if not self._fits(asked, node, everyone):
            return None
        uids = {task: uid for uid, task in by_uid.items()}
        named = [*proposed.uids, *[uids[task] for task in more if task in uids]]
        return meta_victims(named, self._questions.violations(asked.meaning.query, node, everyone, budgets))

    def _fits(self, asked: AskedPod, node: str, without: list[TaskId]) -> bool:
        with self._questions.without(without):
            return self._questions.fits(asked.meaning.query, node)

    def _on(self, node: str) -> dict[str, TaskId]:
        """Pods on a node, by uid."""
        known = self._tracker.by_id
        placed = [one.task for one in self._questions.placed_on(node)]
        return {known[task.workload].uid: task for task in placed if task.workload in known}

    def _where_its_gang_lies(self, asked: AskedPod, nodes: list[str]) -> list[str]:
        """The nodes that pods like this one get when every less urgent pod is gone; none if even then the whole gang
        does not fit. The gang's other pods are asked about too, so the nodes stay the same for all of them."""
        known = self._filter_verb.known(asked)
        gang = None if known is None else known.gang
        group = None if gang is None else self._questions.gang(*gang)
        if known is None or gang is None or group is None or self._filter_verb.plans.lacks(gang, group):
            return []
        begun = self._begun_on(gang)
        tried = self._tried_without(asked, gang, group, {*nodes, *begun}, begun)
        if tried.refusal is not None:
            return []
        self._clearing[gang] = _Clearing(tuple(dict.fromkeys(tried.nodes.values())), self._now())
        shapes = {id_: one.meaning.terms.shape for id_ in tried.nodes if (one := self._tracker.by_id[id_]).meaning}
        shape = None if known.meaning is None else known.meaning.terms.shape
        planned = {node for id_, node in tried.nodes.items() if shapes.get(id_) == shape}
        return [name for name in nodes if name in planned]

    def _tried_without(
        self, asked: AskedPod, gang: NamespacedName, group: GangStatus, cleared: set[str], begun: set[str]
    ) -> GangTrial:
        """With every less urgent pod gone from these nodes; on the nodes that are already being cleared if possible."""
        plans, known, priority = self._filter_verb.plans, self._tracker.by_id, asked.meaning.priority
        placed = [one for node in cleared for one in self._questions.placed_on(node)]
        lower = [one.task for one in placed if one.task.workload in known and one.priority < priority]
        with self._questions.without(lower):
            if begun:
                tried = plans.tried(gang, group, only=begun)
                if tried.refusal is None:
                    return tried
            return plans.tried(gang, group)

    def _begun_on(self, gang: NamespacedName) -> set[str]:
        """Nodes that are already being cleared for the gang."""
        now = self._now()
        self._clearing = {place: one for place, one in self._clearing.items() if now <= one.since_s + self._keep_s}
        found = self._clearing.get(gang)
        return set() if found is None else {name for name in found.nodes if name in self._nodes}
