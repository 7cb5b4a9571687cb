"""Finds rules about other work that exclude each other: near to some tasks and apart from the same ones.

Guarantees: a pair is named only if no node could satisfy both, wherever the other work runs. Nodes of one domain may be
in different domains of any other level (labels are free), so only a host is known to lie inside every level; `zone` is
taken to mean nodes that are in one. A rule about the workload's own tasks does not bind the first of them, so it counts
only where several must start at once.
Left to others: what the rules mean for nodes (`placement/workload_affinity`).
"""

from itertools import combinations

from dovetail.cluster.network.domains import SINGLE
from dovetail.cluster.selector_counts import selects
from dovetail.model.requests.asks import AffinityRule, Relation, Selector
from dovetail.model.requests.shaping import affinity_rules_of
from dovetail.model.requests.task_identity import TaskIdentity
from dovetail.model.text.complaint import field_name
from dovetail.model.workloads.workload import Workload

Path = tuple[str | int, ...]


def opposites(spec: Workload) -> tuple[Path, str] | None:
    """The path of a rule, and the words that name the one that it excludes."""
    required = [(path, rule) for path, rule in _rules(spec) if rule.weight is None]
    together = 1 if spec.gang is None else spec.gang.min
    own = Selector((spec.namespace,), workload=spec.name)
    for (first, one), (last, other) in combinations(required, 2):
        rules = {one.relation: one, other.relation: other}
        near, apart, domains = rules.get(Relation.NEAR), rules.get(Relation.APART), rules.get(Relation.DOMAINS)
        if near is not None and apart is not None:
            excluded = _same_tasks(near, apart) and _inside(near, apart) and (together > 1 or not _first(near, spec))
        elif domains is not None and all(rule.whom == (own,) for rule in (one, other)):
            excluded = _so_many_exclude(one, other, together)
        else:
            excluded = False
        if excluded:
            return last, f"{other} cannot hold together with {field_name(first)}: {one}"
    return None


def _rules(spec: Workload) -> list[tuple[Path, AffinityRule]]:
    found: list[tuple[Path, AffinityRule]] = []
    for index, rule in enumerate(spec.affinity):
        found += [(("affinity", index), one) for one in affinity_rules_of([rule], [], spec.namespace, spec.name)]
    for index, conflict in enumerate(spec.conflicts):
        found += [(("conflicts", index), one) for one in affinity_rules_of([], [conflict], spec.namespace, spec.name)]
    return found


def _same_tasks(near: AffinityRule, apart: AffinityRule) -> bool:
    """Every task it may be near to is one that it must be apart from."""
    if apart.but is not None:
        return False
    return all(any(_covers(wide, narrow) for wide in apart.whom) for narrow in near.whom)


def _covers(wide: Selector, narrow: Selector) -> bool:
    """The wide selector selects every task that the narrow one selects."""
    if wide.namespaces and not (narrow.namespaces and set(narrow.namespaces) <= set(wide.namespaces)):
        return False
    for field in ("workload", "service", "conflict"):
        if getattr(wide, field) not in (None, getattr(narrow, field)):
            return False
    return set(wide.term) <= set(narrow.term)


def _inside(near: AffinityRule, apart: AffinityRule) -> bool:
    """Is everything within the first also within the second?"""
    on_one_host = near.level in SINGLE if near.distance is None else near.distance == 0
    if apart.distance is not None:
        return on_one_host or (near.distance is not None and near.distance <= apart.distance)
    return on_one_host or (near.distance is None and near.level == apart.level)


def _first(near: AffinityRule, spec: Workload) -> bool:
    """May its first task go anywhere, as one of those that want to be together?"""
    labels = tuple(sorted(spec.labels.items()))
    sets = frozenset(conflict.set for conflict in spec.conflicts)
    identity = TaskIdentity(spec.namespace, spec.name, spec.service, labels, sets)
    return any(selects(whom, identity) for whom in near.whom)


def _so_many_exclude(one: AffinityRule, other: AffinityRule, together: int) -> bool:
    """Its own tasks in n domains: each in a new one until then, afterwards in one of those. `together` of them must
    start at once."""
    if one.relation is other.relation:
        return one.level == other.level and one.domains != other.domains and together > min(one.domains, other.domains)
    domains, rule = (one, other) if one.relation is Relation.DOMAINS else (other, one)
    if rule.relation is Relation.NEAR:
        return _inside(rule, domains) and together > 1 and domains.domains > 1
    return rule.distance is None and rule.level == domains.level and together > domains.domains
