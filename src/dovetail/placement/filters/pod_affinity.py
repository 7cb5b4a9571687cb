"""Filters on other pods where Kubernetes differs from `workload_affinity`: affinity, and an even spread."""

from collections.abc import Iterable

import numpy as np

from dovetail.cluster.arrays import B1, F8
from dovetail.cluster.change_log import GROUPS, LABELS, PLACEMENTS
from dovetail.cluster.labels import ABSENT, TaintSet
from dovetail.cluster.network.domains import BY_LABEL
from dovetail.cluster.selector_counts import selects
from dovetail.cluster.views.view import View
from dovetail.model.reason import Eviction, Refused
from dovetail.model.requests.pod_ask import NOMINATED, TERMINATING, UNSCHEDULABLE, PodAffinityRule
from dovetail.model.requests.pod_ask import PodSpreadRule as Rule
from dovetail.model.requests.task_identity import TaskIdentity
from dovetail.placement.contract import Concern, EvictionHelps, Filter, Request, WakeSignals
from dovetail.placement.filters.node_labels import any_of, labels_term
from dovetail.placement.filters.taints import untolerated


def _keeps(together: PodAffinityRule, view: View) -> B1 | bool:
    levels = [BY_LABEL + key for key in together.labels]
    if together.whom is None:
        return False
    counts = view.selector_count(together.whom).counts[: view.width]
    everywhere: B1 | bool = True
    for level in levels:
        everywhere = everywhere & view.in_some_domain(level)
    if together.own and not any(view.domains_with(level, counts) for level in levels):
        return everywhere
    found = everywhere
    for level in levels:
        found = found & (view.in_domain(level, counts) > 0)
    return found


class PodAffinityFilter(Filter):
    """In each domain that the pod's required affinity names runs a pod that all its terms select; or no such pod runs
    anywhere, and the pod selects itself.

    Anti-affinity is the same for all work (`workload_affinity`). Affinity differs: all terms select the same pods, and
    the first of them needs every label but no other pod.
    """

    name = "pod_affinity"
    reason = "affinity_unsatisfied"
    reads = frozenset({LABELS, PLACEMENTS})
    # A pod that must be near others gains nothing when some of them leave.
    eviction_helps = EvictionHelps.WITH_OTHERS
    concern = Concern.SCHEDULER

    def applies(self, request: Request) -> bool:
        pod = request.shape.kubernetes
        return pod is not None and pod.together is not None

    def wake_signals(self, request: Request) -> WakeSignals:
        return WakeSignals(tuple(request.pod.counted()))

    def mask(self, request: Request, view: View) -> B1 | bool:
        assert request.pod.together is not None
        return _keeps(request.pod.together, view)

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        assert request.pod.together is not None
        together, here = request.pod.together, view.subset(np.array([position], dtype=np.intp))
        for key in together.labels:
            if not np.all(here.in_some_domain(BY_LABEL + key)):
                return Refused(self.name, self.reason, f"must be near other pods by {key}, a label the node lacks")
        whom = together.whom or "pods of which there can be none"
        return Refused(self.name, self.reason, f"none of {whom} in its {', '.join(together.labels)}")


def let_off(rules: tuple[Rule, ...], gone: Iterable[TaskIdentity | None]) -> tuple[Rule, ...]:
    """The rules for a node after these pods left it, as kube-scheduler computes them: it subtracts every victim, also
    one that was not counted before (terminating, or selected by an empty selector)."""
    identities = [identity for identity in gone if identity is not None]
    return tuple(
        [rule._replace(let_off=sum([_uncounted(rule, identity) for identity in identities])) for rule in rules]
    )


def _uncounted(rule: Rule, identity: TaskIdentity) -> bool:
    if rule.whom is None or selects(rule.whom, identity):
        return False
    marks = (TERMINATING, NOMINATED)
    return selects(rule.whom._replace(term=tuple([m for m in rule.whom.term if m.key not in marks])), identity)


def _labelled(rules: tuple[Rule, ...], whole: View) -> B1:
    found = whole.present
    for rule in rules:
        found = found & whole.in_some_domain(BY_LABEL + rule.label)
    return found


def _eligible(rule: Rule, request: Request, labelled: B1, whole: View) -> B1:
    """Nodes that count for a rule."""
    found = labelled
    if rule.honours_affinity:
        if request.shape.node_selector:
            found = found & whole.satisfies(labels_term(request.shape.node_selector))
        if request.shape.required:
            found = found & any_of(request.shape.required, whole)
    if rule.honours_taints:
        question = ("spread", request.shape.tolerations)
        found = found & whole.by_taints(question, lambda taints: not untolerated(request, _own(taints), soft=False))
    return found


def _own(taints: TaintSet) -> TaintSet:
    """The taints without the one that stands for `spec.unschedulable`."""
    return tuple([taint for taint in taints if taint.key != UNSCHEDULABLE])


def _skew(rule: Rule, request: Request, labelled: B1, view: View) -> F8:
    """How many more pods the node's domain would have than the emptiest one; only for nodes with the label."""
    found = view.label_codes(rule.label)
    if found is None:
        return np.zeros(view.size)
    codes, column = found
    whole = view.whole
    eligible = _eligible(rule, request, labelled, whole)
    every = column.codes[: whole.size]
    size = len(column.vocabulary) + 1
    has = np.bincount(every[eligible], minlength=size) > 0
    has[ABSENT] = False
    if rule.whom is None:
        sums: F8 = np.zeros(size)
    else:
        counts = view.selector_count(rule.whom).counts[: whole.size]
        sums = np.bincount(every[eligible], counts[eligible], size).astype(np.float64)
    if rule.let_off and view.size == 1:
        sums[codes[0]] -= rule.let_off
    domains = int(np.count_nonzero(has))
    least = float(sums[has].min()) if domains and domains >= rule.min_domains else 0.0
    skew: F8 = sums.take(codes) + (float(rule.own) - least)
    return skew


class PodSpreadFilter(Filter):
    """With the pod, no domain would have more than the allowed number of pods more than the emptiest one.

    Counted as Kubernetes does: domains are those of nodes that have every label the pod is spread by and, where a
    constraint says so, that match the pod's node affinity and tolerations; only pods on such nodes count. Terminating
    pods do not count.
    """

    name = "pod_spread"
    reason = "spread_uneven"
    reads = frozenset(GROUPS)
    eviction_helps = EvictionHelps.BY_TRIAL
    concern = Concern.SCHEDULER

    def applies(self, request: Request) -> bool:
        pod = request.shape.kubernetes
        return pod is not None and bool(pod.spread)

    def wake_signals(self, request: Request) -> WakeSignals:
        return WakeSignals(tuple(request.pod.counted()))

    def mask(self, request: Request, view: View) -> B1 | bool:
        labelled = _labelled(request.pod.spread, view.whole)
        found: B1 | bool = True
        for rule in request.pod.spread:
            found = found & (_skew(rule, request, labelled, view) <= rule.max_skew)
            found = found & view.in_some_domain(BY_LABEL + rule.label)
        return found

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        here = view.subset(np.array([position], dtype=np.intp))
        labelled = _labelled(request.pod.spread, view.whole)
        for rule in request.pod.spread:
            if not np.all(here.in_some_domain(BY_LABEL + rule.label)):
                return Refused(self.name, self.reason, f"the node has no {rule.label}, so nothing is spread over it")
            skew = float(_skew(rule, request, labelled, here)[0])
            if skew > rule.max_skew:
                words = f"its {rule.label} would have {skew:g} more pods than the emptiest one, at most"
                return Refused(self.name, self.reason, f"{words} {rule.max_skew} are allowed", Eviction.HELPS)
        raise AssertionError("refuse() asked of a node that keeps the balance")
