"""The table of policies: which apply to a workload, and what they add to its shape.

Guarantees: policies apply in a fixed order (attached ones by name, then those that the workload names), so equal work
under equal policies has an equal shape. If none applies, the shape is the very object that was requested.

Left to `dovetail.engine.policies`: events (`policy_changes`), conditions (`adjustments`), checks (`violations`).
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import NamedTuple

from dovetail.constraints.programs.structure import text_of
from dovetail.model.batch import PolicySwitch
from dovetail.model.policy import Adjustment, Policy
from dovetail.model.record import PolicyRecord
from dovetail.model.requests.asks import ConstraintAsk
from dovetail.model.requests.shape import Shape
from dovetail.model.requests.shaping import affinity_rules_of, near_of, spread_of
from dovetail.model.requests.terms import Terms
from dovetail.model.workloads.constraint import ConstraintKind

NEVER_EVALUATED = (-1, -1)
_KEPT = 4096


class RuleKey(NamedTuple):
    """Index of a constraint in its policy, and of an adjustment in that constraint."""

    constraint: int
    adjustment: int


@dataclass(frozen=True, slots=True)
class ActiveAdjustment:
    """An adjustment that is on: since when, and the values its condition had then."""

    since: float
    values: str = ""


@dataclass(slots=True)
class AppliedPolicy:
    """The applied version of a policy, and which of its adjustments are on."""

    policy: Policy
    version: int
    at: float
    texts: tuple[str, ...]
    active: dict[RuleKey, ActiveAdjustment] = field(default_factory=dict)
    reconsidered: int = 0  # pending workloads that this version changed

    @property
    def source(self) -> str:
        return f"policy {self.policy.name}"

    @property
    def per_workload(self) -> bool:
        """It adds rules that differ between workloads of one namespace."""
        return bool(self.policy.conflicts) or any(spread.of is None for spread in self.policy.spread)

    def adjusted_by(self, index: int) -> tuple[Adjustment, ActiveAdjustment] | None:
        """The first adjustment of a constraint that is on."""
        for place, adjustment in enumerate(self.policy.rules[index].adjust):
            found = self.active.get(RuleKey(index, place))
            if found is not None:
                return adjustment, found
        return None

    def want(self, index: int) -> ConstraintAsk | None:
        """A constraint with its adjustments applied; None while it is off."""
        rule = self.policy.rules[index]
        asked = ConstraintAsk(rule.kind, self.texts[index], rule.weight, rule.priority, self.source)
        adjusted = self.adjusted_by(index)
        if adjusted is None:
            return asked
        change, _ = adjusted
        if change.off:
            return None
        if change.become is ConstraintKind.REQUIRE:
            return asked._replace(demand=ConstraintKind.REQUIRE, weight=1.0, priority=None)
        weight = asked.weight if change.weight is None else change.weight
        return asked._replace(demand=change.become or asked.demand, weight=weight)

    def wants(self) -> list[ConstraintAsk]:
        found = (self.want(index) for index in range(len(self.policy.rules)))
        return [want for want in found if want is not None]

    def requires(self) -> list[ConstraintAsk]:
        """The hard constraints that apply now."""
        return [want for want in self.wants() if want.demand is ConstraintKind.REQUIRE]


class Policies:
    """All applied policies, and the versions and switches that are not persisted yet."""

    def __init__(self) -> None:
        self.by_name: dict[str, AppliedPolicy] = {}  # sorted
        self.records: list[PolicyRecord] = []
        self.switches: list[PolicySwitch] = []
        self.adjusting = False  # some policy has adjustments
        self.evaluated_at = -1.0  # when conditions were last evaluated
        self.seen = NEVER_EVALUATED  # the change counters at that time
        self._versions: dict[str, int] = {}  # the highest ever used, removed policies included
        self._patterns: list[tuple[str, str]] = []  # (namespace pattern, policy)
        self._places: dict[tuple[str, str], list[str]] = {}  # by ("service" or "workload", name): policies
        self._per_workload: set[str] = set()
        self._in_namespace = lru_cache(_KEPT)(self._of_namespace)
        self._shapes = lru_cache(_KEPT)(self._extended)
        self._unwritten = False

    def __bool__(self) -> bool:
        return bool(self.by_name)

    # --- which apply, and what they add ----------------------------------------------------------------------

    def effective_shape(self, terms: Terms, namespace: str, name: str) -> Shape:
        """The requested shape plus what policies add to it now."""
        asked = terms.shape
        if not self.by_name:
            return asked
        names = self.applying(namespace, asked.service, name, terms.policies)
        if not names:
            return asked
        return self._shapes(asked, namespace, "" if self._per_workload.isdisjoint(names) else name, names)

    def applying(self, namespace: str, service: str | None, name: str, named: tuple[str, ...]) -> tuple[str, ...]:
        """The policies of a workload in their order: attached ones by name, then those that it names."""
        found = self._in_namespace(namespace)
        if self._places:
            at: list[str] = []
            for kind, one in (("service", service), ("workload", name)):
                if one is not None:
                    at += self._places.get((kind, one), ())
                    at += self._places.get((kind, f"{namespace}/{one}"), ())
            if at:
                found = tuple(sorted({*found, *at}))
        if named:
            found += tuple(one for one in dict.fromkeys(named) if one in self.by_name and one not in found)
        return found

    def _of_namespace(self, namespace: str) -> tuple[str, ...]:
        return tuple(sorted({policy for pattern, policy in self._patterns if fnmatchcase(namespace, pattern)}))

    def _extended(self, asked: Shape, namespace: str, name: str, names: tuple[str, ...]) -> Shape:
        """`name` is empty where none of the policies adds rules that differ between workloads."""
        policies = [self.by_name[one] for one in names]
        wants = [want for applied in policies for want in applied.wants()]
        specs = [applied.policy for applied in policies]
        rules = [one for p in specs for one in affinity_rules_of(p.affinity, p.conflicts, namespace, name)]
        spread = [one for p in specs for one in spread_of(p.spread, namespace, name)]
        near = [one for p in specs for one in near_of(p.affinity)]
        if not (wants or rules or spread or near):
            return asked
        return replace(
            asked,
            namespace=namespace,
            wants=(*asked.wants, *wants),
            workload_affinity=tuple(dict.fromkeys([*asked.workload_affinity, *rules])),
            spread=tuple(dict.fromkeys([*asked.spread, *spread])),
            near=tuple(sorted({*asked.near, *near})),
        )

    # --- changing --------------------------------------------------------------------------------------------

    def next_version(self, name: str) -> int:
        return self._versions.get(name, 0) + 1

    def set(self, policy: Policy, version: int, at: float, author: str = "", note: str = "") -> AppliedPolicy:
        """Apply a version. Unchanged adjustments of the version before keep their state."""
        applied = self._put(policy, version, at)
        definition = policy.model_dump_json(exclude_unset=True)
        self.records.append(PolicyRecord(policy.name, version, at, author, note, definition))
        return applied

    def remove(self, name: str, version: int, at: float, author: str = "", note: str = "") -> None:
        self._unwritten = self._unwritten or bool(self.by_name[name].active)
        del self.by_name[name]
        self._versions[name] = version
        self.records.append(PolicyRecord(name, version, at, author, note, None))
        self._index()

    def _put(self, policy: Policy, version: int, at: float) -> AppliedPolicy:
        before = self.by_name.get(policy.name)
        applied = AppliedPolicy(policy, version, at, tuple(text_of(rule.expression) for rule in policy.rules))
        if before is not None:
            rules = _adjustments(policy)
            earlier = _adjustments(before.policy)
            applied.active = {k: active for k, active in before.active.items() if rules.get(k) == earlier[k]}
            self._unwritten = self._unwritten or applied.active != before.active
        self.by_name[policy.name] = applied
        self._versions[policy.name] = version
        self._index()
        return applied

    def _index(self) -> None:
        self.by_name = dict(sorted(self.by_name.items()))
        self._per_workload = {name for name, applied in self.by_name.items() if applied.per_workload}
        self._patterns, self._places = [], {}
        for name, applied in self.by_name.items():
            reach = applied.policy.applies_to
            self._patterns += [(pattern, name) for pattern in reach.namespaces]
            for kind, places in (("service", reach.services), ("workload", reach.workloads)):
                for place in places:
                    self._places.setdefault((kind, place), []).append(name)
        self._in_namespace.cache_clear()
        self._shapes.cache_clear()
        self.seen = NEVER_EVALUATED
        self.adjusting = any(applied.policy.adjusts for applied in self.by_name.values())

    def record_switch(self, switch: PolicySwitch) -> None:
        """An adjustment was switched: cached shapes are stale."""
        self.switches.append(switch)
        self._shapes.cache_clear()
        self._unwritten = True

    # --- persistence -----------------------------------------------------------------------------------------

    def take_memory(self) -> str | None:
        """The active adjustments, if they changed since the last call: hysteresis must survive a crash."""
        if not self._unwritten:
            return None
        self._unwritten = False
        return self.memory()

    def memory(self) -> str:
        return json.dumps(
            {
                name: [[*key, active.since, active.values] for key, active in sorted(applied.active.items())]
                for name, applied in self.by_name.items()
                if applied.active
            }
        )

    def restore(self, records: Iterable[PolicyRecord]) -> None:
        for record in records:
            if record.definition is None:
                self._versions[record.name] = record.version
            else:
                self._put(Policy.model_validate_json(record.definition), record.version, record.at)

    def recall(self, text: str) -> None:
        """Restore active adjustments, as far as their policies and rules still exist."""
        for name, actives in json.loads(text).items():
            applied = self.by_name.get(name)
            if applied is not None:
                known = _adjustments(applied.policy)
                for constraint, adjustment, since, values in actives:
                    key = RuleKey(constraint, adjustment)
                    if key in known:
                        applied.active[key] = ActiveAdjustment(since, values)
        self._shapes.cache_clear()


def _adjustments(policy: Policy) -> dict[RuleKey, tuple[object, Adjustment]]:
    """Adjustments by key, each with the expression it changes."""
    return {
        RuleKey(index, place): (rule.expression, adjustment)
        for index, rule in enumerate(policy.rules)
        for place, adjustment in enumerate(rule.adjust)
    }
