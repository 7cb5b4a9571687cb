"""Workload affinity: where a task keeps a rule about other tasks (near them, apart from them, in n domains, evenly
spread).

One array function a rule, for filters (a rule without a weight is a requirement) and scores (a rule with a weight is a
preference).
Guarantees: answers follow from the selector counts as they are now, trials included. A node without the label of a
level is in no domain: it is near no task and apart from all, and nothing is spread over it.
"""

import numpy as np

from dovetail.cluster.arrays import B1, F8
from dovetail.cluster.selector_counts import concerns, selects
from dovetail.cluster.views.view import View
from dovetail.constraints.programs.program import compile_node
from dovetail.model.requests.asks import AffinityRule, Relation, Selector, SpreadRule
from dovetail.model.workloads.constraint import ConstraintKind as Demand
from dovetail.placement.contract import Request
from dovetail.placement.filters.node_labels import any_of, labels_term
from dovetail.placement.filters.status import runnable
from dovetail.placement.filters.taints import tolerated


def satisfies_rule(rule: AffinityRule, request: Request, view: View) -> B1 | bool:
    """Nodes where the task would keep the rule."""
    counts, total = _counted(rule, view)
    own = request.identity is not None and concerns(rule, request.identity)
    if rule.relation is Relation.APART:
        return True if not total else _apart(rule, counts, view)
    if rule.relation is Relation.DOMAINS:
        return _in_so_many(rule, counts, total, view)
    if not total:
        # The first of those that want to be together may go anywhere.
        return own and (rule.distance is not None or view.in_some_domain(rule.level))
    if rule.distance is not None:
        return view.distance_to(np.flatnonzero(counts)) <= rule.distance
    return view.in_domain(rule.level, counts) > 0


def not_repelled_by(rule: AffinityRule, view: View) -> B1 | bool:
    """Nodes where placed tasks that carry the rule do not keep the task away."""
    return _apart(rule, view.selector_count(rule).counts, view)


def _apart(rule: AffinityRule, counts: F8, view: View) -> B1:
    if rule.distance is not None:
        return view.distance_to(np.flatnonzero(counts)) > rule.distance
    return view.in_domain(rule.level, counts) <= 0


def _in_so_many(rule: AffinityRule, counts: F8, total: float, view: View) -> B1 | bool:
    """Until the tasks are in n domains, the next one goes to a new domain; then to one of those."""
    if not total:
        return view.in_some_domain(rule.level)
    here = view.in_domain(rule.level, counts)
    if view.domains_with(rule.level, counts) < rule.domains:
        return (here <= 0) & view.in_some_domain(rule.level)
    return here > 0


def _counted(rule: AffinityRule, view: View) -> tuple[F8, float]:
    """float64[node of the whole cluster]: tasks that the rule selects on each node, and their total."""
    counts, total = _sum_of(rule.whom, view)
    if rule.but is not None:
        own = view.selector_count(rule.but)
        return counts - own.counts[: view.width], total - own.total
    return counts, total


def _sum_of(whom: tuple[Selector, ...], view: View) -> tuple[F8, float]:
    first = view.selector_count(whom[0])
    counts, total = first.counts[: view.width], first.total
    for selector in whom[1:]:
        more = view.selector_count(selector)
        counts, total = counts + more.counts[: view.width], total + more.total
    return counts, total


def skews(even: SpreadRule, request: Request, view: View) -> tuple[F8, B1 | bool]:
    """How many more tasks the node's domain would have than the emptiest one, with this task; and whether the node is
    in a domain. Only domains with a node that the task could go to count."""
    counts, _ = _sum_of(even.whom, view)
    eligible = _eligible(request, view.whole)
    per_domain, least = view.domain_counts(even.level, counts, eligible, even.min_domains)
    own = 1.0 if request.identity is not None and any(selects(one, request.identity) for one in even.whom) else 0.0
    return per_domain + (own - least), view.in_some_domain(even.level)


def _eligible(request: Request, view: View) -> B1:
    """Nodes that the task could go to by what it requires of nodes themselves. Preferences do not count, not even those
    that are insisted on: giving them up must not change the balance."""
    shape = request.shape
    found = view.ready
    if request.scope:
        found = found & view.satisfies(labels_term(request.scope))
    if shape.node_selector:
        found = found & view.satisfies(labels_term(shape.node_selector))
    if shape.required:
        found = found & any_of(shape.required, view)
    for allowed in (tolerated(request, view), runnable(request, view)):
        if allowed is not True:
            found = found & allowed
    for want in shape.wants:
        if want.demand is Demand.REQUIRE:
            program = compile_node(want.text)
            if not program.non_local:
                found = found & program.holds(view, shape.namespace)
    return found
