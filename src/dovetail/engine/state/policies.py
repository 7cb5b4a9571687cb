"""Which policies apply to a workload, and what they add to what it asks for.

Guarantees: the order is fixed (attached policies by name, then those that the workload names), so that equal work under
equal policies has an equal shape; where nothing applies the shape is the very one that was asked for. Without policies
asking costs one test.

Left to others: the events that change policies (`reconsidering`), the conditions that adjust them (`adjusting`), and
what runs against them (`violations`).
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import NamedTuple

from dovetail.constraints.structure import text_of
from dovetail.engine.state.terms import Terms
from dovetail.model.policy import Adjustment, Policy
from dovetail.model.record import PolicyRecord, PolicySwitch
from dovetail.model.requests.asks import ConstraintAsk
from dovetail.model.requests.shape import Shape
from dovetail.model.requests.shaping import company_of, near_of, spread_of
from dovetail.model.workloads.constraint import ConstraintKind

NEVER_SEEN = (-1, -1)
_SHAPES_KEPT = 4096


class RuleKey(NamedTuple):
    """An adjustment of a constraint, both by their place."""

    constraint: int
    adjustment: int


@dataclass(frozen=True, slots=True)
class Active:
    """An adjustment that is on: since when, and what its condition looked at then."""

    since: float
    values: str = ""


@dataclass(slots=True)
class Ruling:
    """A policy as it is in force: its version, and which of its adjustments are on."""

    policy: Policy
    version: int
    at: float
    texts: tuple[str, ...]
    active: dict[RuleKey, Active] = field(default_factory=dict)
    reconsidered: int = 0  # waiting workloads that were looked at again when this version came

    @property
    def source(self) -> str:
        return f"policy {self.policy.name}"

    @property
    def personal(self) -> bool:
        """It adds something that differs from workload to workload, not only between namespaces."""
        return bool(self.policy.conflicts) or any(spread.of is None for spread in self.policy.spread)

    def adjusted_by(self, index: int) -> tuple[Adjustment, Active] | None:
        """The first adjustment of a constraint that is on."""
        for place, adjustment in enumerate(self.policy.rules[index].adjust):
            found = self.active.get(RuleKey(index, place))
            if found is not None:
                return adjustment, found
        return None

    def want(self, index: int) -> ConstraintAsk | None:
        """A constraint as it counts now; None while it is off."""
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
        """What must hold now."""
        return [want for want in self.wants() if want.demand is ConstraintKind.REQUIRE]


class Policies:
    """Every policy in force, and the versions that are not written yet."""

    def __init__(self) -> None:
        self.rulings: dict[str, Ruling] = {}  # by name, sorted
        self.records: list[PolicyRecord] = []
        self.switches: list[PolicySwitch] = []
        self.adjusting = False  # some constraint may change with the cluster
        self.looked_at = -1.0  # when the adjustments were last judged
        self.seen = NEVER_SEEN  # and what the cluster and the queue were then
        self._versions: dict[str, int] = {}  # the highest ever given, also of policies that are gone
        self._patterns: list[tuple[str, str]] = []  # (pattern of namespaces, policy)
        self._places: dict[tuple[str, str], list[str]] = {}  # by ("service" or "workload", place): policies
        self._personal: set[str] = set()
        self._in_namespace: dict[str, tuple[str, ...]] = {}
        self._shapes: dict[tuple[Shape, str, tuple[str, ...], str], Shape] = {}
        self._unwritten = False

    def __bool__(self) -> bool:
        return bool(self.rulings)

    # --- which apply, and what they add ----------------------------------------------------------------------

    def in_force(self, terms: Terms, namespace: str, name: str) -> Shape:
        """What placement looks at: the shape that was asked for, and what policies add to it now."""
        asked = terms.shape
        if not self.rulings:
            return asked
        names = self.applying(namespace, asked.service, name, terms.policies)
        if not names:
            return asked
        key = (asked, namespace, names, "" if self._personal.isdisjoint(names) else name)
        found = self._shapes.get(key)
        if found is None:
            if len(self._shapes) >= _SHAPES_KEPT:
                self._shapes.clear()
            found = self._shapes[key] = self._with_more(asked, namespace, name, names)
        return found

    def applying(self, namespace: str, service: str | None, name: str, named: tuple[str, ...]) -> tuple[str, ...]:
        """The policies of a workload in their order: attached ones by name, then those that it names."""
        found = self._of_namespace(namespace)
        if self._places:
            at: list[str] = []
            for kind, one in (("service", service), ("workload", name)):
                if one is not None:
                    at += self._places.get((kind, one), ())
                    at += self._places.get((kind, f"{namespace}/{one}"), ())
            if at:
                found = tuple(sorted({*found, *at}))
        if named:
            found += tuple(one for one in dict.fromkeys(named) if one in self.rulings and one not in found)
        return found

    def _of_namespace(self, namespace: str) -> tuple[str, ...]:
        found = self._in_namespace.get(namespace)
        if found is None:
            if len(self._in_namespace) >= _SHAPES_KEPT:
                self._in_namespace.clear()
            found = tuple(sorted({policy for pattern, policy in self._patterns if fnmatchcase(namespace, pattern)}))
            self._in_namespace[namespace] = found
        return found

    def _with_more(self, asked: Shape, namespace: str, name: str, names: tuple[str, ...]) -> Shape:
        rulings = [self.rulings[one] for one in names]
        wants = [want for ruling in rulings for want in ruling.wants()]
        policies = [ruling.policy for ruling in rulings]
        company = [one for p in policies for one in company_of(p.affinity, p.conflicts, namespace, name)]
        spread = [one for p in policies for one in spread_of(p.spread, namespace, name)]
        near = [one for p in policies for one in near_of(p.affinity)]
        if not (wants or company or spread or near):
            return asked
        return replace(
            asked,
            namespace=namespace,
            wants=(*asked.wants, *wants),
            company=tuple(dict.fromkeys([*asked.company, *company])),
            spread=tuple(dict.fromkeys([*asked.spread, *spread])),
            near=tuple(sorted({*asked.near, *near})),
        )

    # --- changing --------------------------------------------------------------------------------------------

    def next_version(self, name: str) -> int:
        return self._versions.get(name, 0) + 1

    def set(self, policy: Policy, version: int, at: float, author: str = "", note: str = "") -> Ruling:
        """Adjustments that the version before had in the same place go on as they are."""
        ruling = self._put(policy, version, at)
        definition = policy.model_dump_json(exclude_unset=True)
        self.records.append(PolicyRecord(policy.name, version, at, author, note, definition))
        return ruling

    def remove(self, name: str, version: int, at: float, author: str = "", note: str = "") -> None:
        self._unwritten = self._unwritten or bool(self.rulings[name].active)
        del self.rulings[name]
        self._versions[name] = version
        self.records.append(PolicyRecord(name, version, at, author, note, None))
        self._index()

    def _put(self, policy: Policy, version: int, at: float) -> Ruling:
        before = self.rulings.get(policy.name)
        ruling = Ruling(policy, version, at, tuple(text_of(rule.expression) for rule in policy.rules))
        if before is not None:
            rules = _adjustments(policy)
            earlier = _adjustments(before.policy)
            ruling.active = {k: active for k, active in before.active.items() if rules.get(k) == earlier[k]}
            self._unwritten = self._unwritten or ruling.active != before.active
        self.rulings[policy.name] = ruling
        self._versions[policy.name] = version
        self._index()
        return ruling

    def _index(self) -> None:
        self.rulings = dict(sorted(self.rulings.items()))
        self._personal = {name for name, ruling in self.rulings.items() if ruling.personal}
        self._patterns, self._places = [], {}
        for name, ruling in self.rulings.items():
            reach = ruling.policy.applies_to
            self._patterns += [(pattern, name) for pattern in reach.namespaces]
            for kind, places in (("service", reach.services), ("workload", reach.workloads)):
                for place in places:
                    self._places.setdefault((kind, place), []).append(name)
        self._in_namespace.clear()
        self._shapes.clear()
        self.seen = NEVER_SEEN
        self.adjusting = any(ruling.policy.adjusts for ruling in self.rulings.values())

    def switched(self, switch: PolicySwitch) -> None:
        """An adjustment began or ended: shapes that were made before are no longer in force."""
        self.switches.append(switch)
        self._shapes.clear()
        self._unwritten = True

    # --- remembering -----------------------------------------------------------------------------------------

    def take_records(self) -> tuple[list[PolicyRecord], list[PolicySwitch]]:
        taken = (self.records, self.switches)
        self.records, self.switches = [], []
        return taken

    def take_memory(self) -> str | None:
        """What is on, if that changed since it was last taken: hysteresis must survive a sudden end."""
        if not self._unwritten:
            return None
        self._unwritten = False
        return self.memory()

    def memory(self) -> str:
        return json.dumps(
            {
                name: [[*key, active.since, active.values] for key, active in sorted(ruling.active.items())]
                for name, ruling in self.rulings.items()
                if ruling.active
            }
        )

    def restore(self, records: Iterable[PolicyRecord]) -> None:
        for record in records:
            if record.definition is None:
                self._versions[record.name] = record.version
            else:
                self._put(Policy.model_validate_json(record.definition), record.version, record.at)

    def recall(self, text: str) -> None:
        """Adjustments that were on; of policies and rules that are still there."""
        for name, actives in json.loads(text).items():
            ruling = self.rulings.get(name)
            if ruling is not None:
                known = _adjustments(ruling.policy)
                for constraint, adjustment, since, values in actives:
                    key = RuleKey(constraint, adjustment)
                    if key in known:
                        ruling.active[key] = Active(since, values)
        self._shapes.clear()


def _adjustments(policy: Policy) -> dict[RuleKey, tuple[object, Adjustment]]:
    """By place, with the expression that each is about."""
    return {
        RuleKey(index, place): (rule.expression, adjustment)
        for index, rule in enumerate(policy.rules)
        for place, adjustment in enumerate(rule.adjust)
    }
