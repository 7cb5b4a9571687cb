"""Rules between tasks of one application: an even spread, and anti-affinity among those that are not placed yet.

Filters know what is placed already; what the application's own tasks will do to each other is stated here.
"""

from collections import Counter

import numpy as np

from dovetail.cluster.arrays import B1, Rows
from dovetail.cluster.labels import ABSENT
from dovetail.cluster.network.domains import SINGLE, domain_codes, level_column
from dovetail.cluster.selector_counts import concerns, selects
from dovetail.engine.applications.parts import ApplicationPart
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.requests.asks import AffinityRule, Relation, SpreadRule
from dovetail.placement.applications.problem import DomainLimit, Exclusion


def rules_of(
    state: EngineState, parts: list[ApplicationPart], part_of: Rows, rows: Rows, eligible: list[B1]
) -> tuple[tuple[DomainLimit, ...], tuple[Exclusion, ...]]:
    """`eligible`: for each part, bool[row of the cluster], where it could go if all were empty."""
    limits: list[DomainLimit] = []
    exclusions: list[Exclusion] = []
    for even, members in _spread(parts).items():
        tasks = np.flatnonzero(np.isin(part_of, members))
        limits.append(_even(state, even, tasks, rows, eligible[members[0]]))
    for index, part in enumerate(parts):
        own = np.flatnonzero(part_of == index)
        shape, identity = part.trial.subject.shape, part.trial.subject.identity
        for rule in shape.workload_affinity:
            if rule.relation is not Relation.APART or rule.weight is not None or rule.distance is not None:
                continue
            codes = domain_codes(state.cluster, rule.level)
            _, domains = np.unique(codes[rows], return_inverse=True)
            if concerns(rule, identity) and len(own) > 1:
                limits.append(DomainLimit(own, domains, np.ones(int(domains.max()) + 1)))
            other = _concerned(parts, part_of, rule, index)
            if len(other):
                sides = np.repeat([0, 1], [len(own), len(other)])
                exclusions.append(Exclusion(np.concatenate([own, other]), sides, domains))
    return tuple(limits), tuple(exclusions)


def _spread(parts: list[ApplicationPart]) -> dict[SpreadRule, list[int]]:
    """Rules about an even spread, and the parts whose tasks each of them counts. Replicas of a service are parts of
    their own. That they prefer different hosts is taken as a rule here: what one host would gain is less than what its
    loss would cost."""
    found: dict[SpreadRule, list[int]] = {}
    sizes = Counter(part.key for part in parts)
    for index, part in enumerate(parts):
        identity = part.trial.subject.identity
        for even in part.trial.subject.shape.spread:
            counts = even.weight is None or (even.level in SINGLE and sizes[part.key] > 1)
            if counts and any(selects(whom, identity) for whom in even.whom):
                found.setdefault(even, []).append(index)
    return found


def _concerned(parts: list[ApplicationPart], part_of: Rows, rule: AffinityRule, index: int) -> Rows:
    """Tasks of other parts that the rule keeps away."""
    others = [at for at, part in enumerate(parts) if at != index and concerns(rule, part.trial.subject.identity)]
    found: Rows = np.flatnonzero(np.isin(part_of, others))
    return found


def _even(state: EngineState, even: SpreadRule, own: Rows, rows: Rows, eligible: B1) -> DomainLimit:
    """Every domain with a node that the task could go to counts, also one that is full."""
    cluster = state.cluster
    codes = _codes(state, even.level)
    counted = np.flatnonzero(eligible[: cluster.width] & (codes >= 0))
    names = np.unique(codes[counted])
    held = np.zeros(len(names) + (len(names) < even.min_domains))  # too few domains: as if one were empty
    for whom in even.whom:
        tasks = cluster.placements.selector_count(whom).counts[: cluster.width]
        inside = np.flatnonzero(np.isin(codes, names))
        held += np.bincount(np.searchsorted(names, codes[inside]), tasks[inside], len(held))
    place = np.searchsorted(names, codes[rows])
    domains = np.where(np.isin(codes[rows], names), place, -1)
    return DomainLimit(own, domains, np.full(len(held), np.inf), float(even.max_skew), held)


def _codes(state: EngineState, level: str) -> Rows:
    """intp[node]: its domain of the level, -1 for one that is in none."""
    width = state.cluster.width
    if level in SINGLE:
        return np.arange(width)
    column = level_column(state.cluster, level)
    if column is None:
        return np.full(width, -1, dtype=np.intp)
    codes = column.codes[:width].astype(np.intp)
    return np.where(codes == ABSENT, -1, codes)
