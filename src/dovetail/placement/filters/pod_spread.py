"""With the pod, no domain would have more than the allowed number of pods more than the emptiest one.

Counted as Kubernetes does: domains are those of nodes that have every label the pod is spread by and, where a
constraint says so, that match the pod's node affinity and tolerations; only pods on such nodes count. Terminating pods
do not count.
"""

from collections.abc import Iterable

import numpy as np

from dovetail.cluster.arrays import B1, F8
from dovetail.cluster.labels import ABSENT
from dovetail.cluster.network.domains import BY_LABEL
from dovetail.cluster.selector_counts import selects
from dovetail.cluster.state import GROUPS
from dovetail.cluster.taints import TaintSet
from dovetail.cluster.views.view import View
from dovetail.model.reason import Eviction, Refused
from dovetail.model.requests.pod_ask import NOMINATED, TERMINATING, UNSCHEDULABLE
from dovetail.model.requests.pod_ask import PodSpreadRule as Rule
from dovetail.model.requests.task_identity import TaskIdentity
from dovetail.placement.contract import Concern, EvictionHelps, Filter, Request, WakeSignals
from dovetail.placement.filters.node_affinity import required_terms
from dovetail.placement.filters.scope import labels_term
from dovetail.placement.filters.taints import untolerated


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
        found = found & required_terms(request, whole)
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
