"""The oracle's view of workload affinity: near, apart, in so many domains, conflict sets, spread, expressions.

Written from the documented rules over plain lists of nodes and the tasks on them: one node at a time, nothing kept. A
node without the label of a level is in no domain: near to nobody there, apart from everybody, and nothing is spread
over it. Expressions are evaluated by an independent CEL implementation.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import cel

from dovetail.model.node import Node
from dovetail.model.workloads.affinity import Affinity, Peers, Spread
from dovetail.model.workloads.selection import LabelMatch, Operator
from dovetail.model.workloads.workload import Workload

ON_ITS_OWN = ("host", "node")
CONVENTIONAL = {"region": "topology.kubernetes.io/region", "zone": "topology.kubernetes.io/zone"}
NEAR, APART, DOMAINS = "near", "apart", "domains"


class Placed(Protocol):
    """A node and the tasks on it."""

    definition: Node
    tasks: dict[Hashable, Workload]


Distance = Callable[[Any, Any], float]


@dataclass(frozen=True)
class Rule:
    """One rule of a workload about other tasks, whatever way it was written."""

    relation: str
    namespace: str
    whom: tuple[tuple[Any, ...], ...]
    level: str = "host"
    distance: float | None = None
    domains: int = 0
    weight: float | None = None
    conflict: tuple[str, str] | None = None  # the set, and the workload of it that does not count

    def concerns(self, task: Workload) -> bool:
        if self.conflict is not None:
            name, own = self.conflict
            members = {one.set for one in task.conflicts}
            return task.namespace == self.namespace and name in members and task.name != own
        return any(_selected(one, task) for one in self.whom)


def rules_of(workload: Workload) -> list[Rule]:
    """As written, twice the same once; `near` alone is left to the scores that weigh nearness."""
    found = [rule for one in workload.affinity if (rule := _rule(one, workload.namespace)) is not None]
    space, name = workload.namespace, workload.name
    sets = [Rule(APART, space, (), one.within, conflict=(one.set, name)) for one in workload.conflicts]
    return list(dict.fromkeys([*found, *sets]))


def _rule(one: Affinity, namespace: str) -> Rule | None:
    if one.near is not None and one.within is None and one.distance is None:
        return None
    near = [one.near] if one.near is not None else one.in_same_region
    apart = [one.apart] if one.apart is not None else one.in_different_regions
    whom = near or apart or one.in_n_regions or []
    relation = NEAR if near else APART if apart else DOMAINS
    by_region = one.near is None and one.apart is None
    level = one.within or ("region" if by_region else "host")
    peers = tuple(_plain(each, namespace) for each in whom)
    return Rule(relation, namespace, peers, level, one.distance, one.n or 0, one.weight)


def _plain(peers: Peers, namespace: str) -> tuple[Any, ...]:
    spaces = frozenset(peers.namespaces or [namespace])
    equal = [(key, Operator.IN, (value,)) for key, value in sorted(peers.labels.items())]
    matches = [(match.key, match.operator, tuple(match.values)) for match in peers.match]
    return (None if "*" in spaces else spaces, peers.workload, peers.service, (*equal, *matches))


def _selected(whom: tuple[Any, ...], task: Workload) -> bool:
    spaces, name, service, matches = whom
    if spaces is not None and task.namespace not in spaces:
        return False
    if name not in (None, task.name) or service not in (None, task.service):
        return False
    return all(_compares(key, operator, values, task.labels) for key, operator, values in matches)


def _compares(key: str, operator: Operator, values: tuple[str, ...], labels: Mapping[str, str]) -> bool:
    from tests.reference import label_matches

    return label_matches(LabelMatch(key=key, operator=operator, values=list(values)), labels.get(key))


# --- domains -----------------------------------------------------------------------------------------------------


def domain(level: str, node: Placed, nodes: Iterable[Placed]) -> str | None:
    """The name of the node's domain; None where it is in none."""
    if level in ON_ITS_OWN:
        return node.definition.name
    if level in CONVENTIONAL and not any(level in other.definition.labels for other in nodes):
        level = CONVENTIONAL[level]
    return node.definition.labels.get(level)


class AffinityOracle:
    """What one workload's rules say, with the cluster as it is now."""

    def __init__(self, workload: Workload, nodes: Sequence[Placed], distance: Distance) -> None:
        self._workload, self._nodes, self._distance = workload, nodes, distance
        self.rules = rules_of(workload)
        self._repelling = [
            (other, rule)
            for other in nodes
            for task in other.tasks.values()
            if task.affinity or task.conflicts
            for rule in rules_of(task)
            if rule.relation == APART and rule.weight is None and rule.concerns(workload)
        ]

    def required_kept(self, node: Placed) -> bool:
        """Its own requirements hold there, and nobody who runs keeps it away."""
        return all(self.keeps(rule, node) for rule in self.rules if rule.weight is None) and not any(
            self._together(rule, node, other) for other, rule in self._repelling
        )

    def keeps(self, rule: Rule, node: Placed) -> bool:
        there = [other for other in self._nodes for task in other.tasks.values() if rule.concerns(task)]
        here = domain(rule.level, node, self._nodes)
        if rule.relation == APART:
            return not any(self._together(rule, node, other) for other in there)
        if rule.relation == DOMAINS:
            taken = {domain(rule.level, other, self._nodes) for other in there} - {None}
            if not there or len(taken) < rule.domains:
                return here is not None and here not in taken
            return here in taken
        if not there:  # the first of those that want to be together has nobody to be near to
            return rule.concerns(self._workload) and (rule.distance is not None or here is not None)
        return any(self._together(rule, node, other) for other in there)

    def _together(self, rule: Rule, node: Placed, other: Placed) -> bool:
        if rule.distance is not None:
            return self._distance(node, other) <= rule.distance
        here = domain(rule.level, node, self._nodes)
        return here is not None and here == domain(rule.level, other, self._nodes)

    def skew(self, spread: Spread, node: Placed, eligible: Callable[[Any], bool]) -> int | None:
        """How many more its domain would have than the emptiest one, with the task; None where it is in no domain."""
        here = domain(spread.over, node, self._nodes)
        if here is None:
            return None
        workload = self._workload
        counts: dict[str | None, int] = {}
        for other in self._nodes:
            where = domain(spread.over, other, self._nodes)
            counts[where] = counts.get(where, 0) + sum(self._counts(spread, task) for task in other.tasks.values())
        open_to_it = {domain(spread.over, other, self._nodes) for other in self._nodes if eligible(other)} - {None}
        enough = len(open_to_it) >= max(1, spread.min_domains or 1)
        least = min(counts[where] for where in open_to_it) if enough else 0
        return counts[here] + self._counts(spread, workload) - least

    def _counts(self, spread: Spread, task: Workload) -> bool:
        workload = self._workload
        if spread.of is None:
            return (task.namespace, task.name) == (workload.namespace, workload.name)
        return _selected(_plain(spread.of, workload.namespace), task)


def spreads_of(workload: Workload) -> list[Spread]:
    """Twice the same counts once."""
    found: list[Spread] = []
    for one in workload.spread:
        if one not in found:
            found.append(one)
    return found


# --- expressions -------------------------------------------------------------------------------------------------


@cache
def _compiled(text: str) -> Any:
    return cel.compile(text)


def expression_holds(text: str, node: Mapping[str, Any]) -> bool:
    """One expression for one node; what cannot be evaluated there, as for want of a label, does not hold."""
    try:
        return _compiled(text).execute({"node": dict(node)}) is True
    except Exception:  # the library raises whatever fits: KeyError for a missing label, ValueError, TypeError
        return False
