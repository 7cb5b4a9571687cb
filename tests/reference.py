"""The oracle: a plain scheduler that looks at one node at a time, applies one rule at a time and keeps nothing.

Written from the documented rules, not from the array code, so that the two can be wrong only independently. It
imports the model and the standard library, keeps whole numbers in dictionaries, and does its sums in the order the
scores document, so that totals agree to the bit. Benchmarks race the real pipeline against it, so it does not dawdle
either: whatever is the same for all nodes is worked out once a decision.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from hashlib import blake2b
from math import floor, inf
from typing import Any, Protocol

from tests.reference_devices import ReferenceGpus
from tests.reference_gangs import Place, fits
from tests.reference_market import MarketOracle
from tests.reference_workload_affinity import APART, AffinityOracle, expression_holds, spreads_of

from dovetail.model.node import Node
from dovetail.model.workloads.affinity import Spread
from dovetail.model.workloads.constraint import ConstraintKind as Demand
from dovetail.model.workloads.constraint import Expression
from dovetail.model.workloads.selection import (
    Effect,
    LabelMatch,
    NodeTerm,
    Operator,
    Taint,
    Toleration,
    TolerationOperator,
    WeightedTerm,
)
from dovetail.model.workloads.workload import Workload, WorkloadKind

FILTERS = (
    *("ready", "scope", "backend", "node_selector", "node_affinity", "taints"),
    *("gpu_model", "constraints", "workload_affinity", "spread", "bandwidth", "promised", "gpus", "resources"),
)
MEASURABLE = ("cpu", "memory", "disk")
BLEND = (("cpu", 0.4), ("memory", 0.4), ("disk", 0.2))
#: Widest first.
LEVELS = ("topology.kubernetes.io/region", "region", "topology.kubernetes.io/zone", "zone", "spine", "leaf", "rack")


class Profile(Protocol):
    """As much of a profile's settings as deciding needs."""

    @property
    def scores(self) -> Mapping[str, float]: ...
    @property
    def select(self) -> str: ...
    @property
    def settings(self) -> Mapping[str, Mapping[str, Any]]: ...


@dataclass
class ReferenceNode:
    """One node, with its own books."""

    definition: Node
    online: bool = True
    cordoned: bool = False
    tasks: dict[Hashable, Workload] = field(default_factory=dict)
    allocated: dict[str, int] = field(default_factory=dict)
    reserved: dict[str, int] = field(default_factory=dict)
    observed: dict[str, int] = field(default_factory=dict)
    unseen: dict[str, int] = field(default_factory=dict)  # allocated since the last measurement
    minding: int = 0  # tasks on it with rules about other tasks
    gpus: ReferenceGpus = field(default_factory=ReferenceGpus)
    ended: list[bool] = field(default_factory=list)
    slowdowns: list[float] = field(default_factory=list)  # of tasks that ran there, as many times as long as usual
    capacity: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.redefine(self.definition)

    def redefine(self, definition: Node) -> None:
        self.definition, self.online = definition, True
        self.capacity = definition.capacity.amounts()
        self.gpus.redefine(definition)

    def take(self, task: Hashable, workload: Workload) -> None:
        self.tasks[task] = workload
        self.gpus.take(task, workload.resources)
        self.minding += bool(workload.affinity or workload.conflicts)
        for resource, amount in workload.resources.amounts().items():
            self.allocated[resource] = self.allocated.get(resource, 0) + amount
            self.unseen[resource] = self.unseen.get(resource, 0) + amount

    def give(self, task: Hashable) -> None:
        workload = self.tasks.pop(task)
        self.gpus.give(task)
        self.minding -= bool(workload.affinity or workload.conflicts)
        for resource, amount in workload.resources.amounts().items():
            self.allocated[resource] -= amount
            self.unseen[resource] = max(0, self.unseen.get(resource, 0) - amount)

    def share(self, resource: str, more: int = 0) -> float:
        """Of its capacity, how much is in use once `more` is taken; 0 where it has none of it."""
        capacity = self.capacity.get(resource, 0)
        return (self.allocated.get(resource, 0) + more) * (1.0 / capacity) if capacity else 0.0


@dataclass(frozen=True)
class Ask:
    """A workload and what of it is the same for all nodes."""

    workload: Workload
    needs: dict[str, int]
    asked: list[str]  # what utilisation looks at: all but the slot every task takes, unless there is nothing else
    near: frozenset[str]
    exchanged: dict[str, int]  # Mbps by workload that it talks to or that talks to it
    kind: WorkloadKind
    affinity: AffinityOracle | None  # None where neither it nor anything that runs has rules about other tasks

    @staticmethod
    def of(workload: Workload, affinity: AffinityOracle | None, heard: dict[str, int] | None = None) -> "Ask":
        needs = workload.resources.amounts()
        return Ask(
            workload,
            needs,
            sorted(resource for resource in needs if resource != "slots") or ["slots"],
            frozenset(
                one.near.workload
                for one in workload.affinity
                if one.near is not None and one.near.workload is not None and not one.near.namespaces
            ),
            _exchanged(workload, heard or {}),
            # A job with an image needs a node that runs containers.
            WorkloadKind.CONTAINER if workload.run.image and workload.kind is WorkloadKind.JOB else workload.kind,
            affinity,
        )


def _exchanged(workload: Workload, heard: dict[str, int]) -> dict[str, int]:
    """Both directions added up."""
    own = {one.to: one.mbps for one in workload.traffic}
    return {name: own.get(name, 0) + heard.get(name, 0) for name in sorted({*own, *heard})}


@dataclass(frozen=True)
class Decision:
    """The node chosen, how many nodes each filter left over, and every feasible node's total and points by row."""

    node: str | None
    remaining: tuple[int, ...]
    totals: dict[int, float]
    points: dict[int, tuple[float, ...]]


class ReferenceScheduler:
    def __init__(
        self,
        profile: Profile,
        *,
        overcommit: Mapping[str, float] | None = None,
        scope: Mapping[str, str] | None = None,
        seed: int = 0,
    ) -> None:
        self.profile = profile
        self.nodes: list[ReferenceNode | None] = []  # by row, in the order of joining; None where a node left
        self.backends_down: set[str] = set()
        self.cursor = -1  # the row that took the last task
        self.measured: dict[tuple[str, str], float] = {}  # distances by names, both ways
        self._overcommit, self._scope, self._seed = dict(overcommit or {}), dict(scope or {}), seed
        self._observing = profile.settings.get("resources", {}).get("basis") == "observed"

    # --- what happens to the cluster -------------------------------------------------------------------------

    def join(self, definition: Node) -> None:
        """A new node takes the lowest vacant row, or a new one; a known node takes over its new definition."""
        for node in self.present():
            if node.definition.name == definition.name:
                node.redefine(definition)
                return
        if None in self.nodes:
            self.nodes[self.nodes.index(None)] = ReferenceNode(definition)
        else:
            self.nodes.append(ReferenceNode(definition))

    def leave(self, name: str) -> None:
        self.nodes[self.row(name)] = None

    def place(self, workload: Workload, task: Hashable, name: str) -> None:
        self.cursor = self.row(name)
        self.node(name).take(task, workload)

    def remove(self, task: Hashable) -> None:
        next(node for node in self.present() if task in node.tasks).give(task)

    def fare(self, name: str, ok: bool, slowdown: float | None) -> None:
        self.node(name).ended.append(ok)
        if slowdown is not None:
            self.node(name).slowdowns.append(slowdown)

    def reserve(self, name: str, amounts: Mapping[str, int], sign: int = 1) -> None:
        reserved = self.node(name).reserved
        for resource, amount in amounts.items():
            reserved[resource] = reserved.get(resource, 0) + sign * amount

    def observe(self, name: str, used: Mapping[str, int]) -> None:
        self.node(name).observed, self.node(name).unseen = dict(used), {}

    def present(self) -> Iterable[ReferenceNode]:
        return (node for node in self.nodes if node is not None)

    def row(self, name: str) -> int:
        return next(i for i, node in enumerate(self.nodes) if node is not None and node.definition.name == name)

    def node(self, name: str) -> ReferenceNode:
        return next(node for node in self.present() if node.definition.name == name)

    # --- deciding --------------------------------------------------------------------------------------------

    def decide(self, workload: Workload, task: str = "") -> str | None:
        """The name of the best node for one task, or None."""
        return self.decision(workload, task).node

    def ask(self, workload: Workload) -> Ask:
        nodes = list(self.present())
        minds = workload.affinity or workload.conflicts or workload.spread
        some = minds or any(node.minding for node in nodes)
        affinity = AffinityOracle(workload, nodes, self.distance) if some else None
        return Ask.of(workload, affinity, self._heard(workload))

    def decision(self, workload: Workload, task: str = "") -> Decision:
        ask = self.ask(workload)
        scores: list[tuple[float, Callable[[Ask, ReferenceNode], float]]] = [
            (weight, getattr(self, f"_{name}")) for name, weight in self.profile.scores.items()
        ]
        remaining = [0] * len(FILTERS)
        totals: dict[int, float] = {}
        points: dict[int, tuple[float, ...]] = {}
        for row, node in enumerate(self.nodes):
            if node is None:
                continue
            for i, name in enumerate(FILTERS):
                if not self.passes(name, ask, node):
                    break
                remaining[i] += 1
            else:
                points[row] = tuple([score(ask, node) for _, score in scores])
                total = 0.0
                for (weight, _), one in zip(scores, points[row], strict=True):
                    total += one * weight
                totals[row] = total
        row_chosen = self._select(totals, task)
        chosen = None if row_chosen is None else self.nodes[row_chosen]
        return Decision(chosen.definition.name if chosen else None, tuple(remaining), totals, points)

    def gang_places(self, workload: Workload) -> list[Place]:
        """Every node, and how many tasks of a workload it could take, found by giving it one after the other."""
        ask, found = self.ask(workload), []
        for node in self.present():
            copies = 0
            while all(self.passes(name, ask, node) for name in FILTERS):
                node.take(("copy", copies), workload)
                copies += 1
            for copy in range(copies):
                node.give(("copy", copy))
            found.append(Place(node.definition.name, node.definition.labels, copies))
        return found

    def gang_fits(self, workload: Workload) -> bool:
        """Is there a domain that holds the least of a gang as its layout has it? Which of them is best it does not
        say."""
        assert workload.gang is not None
        layout = workload.topology
        slices = [] if layout is None else [(one.size, one.within) for one in layout.slices]
        carried = [level for level in LEVELS if any(level in node.definition.labels for node in self.present())]
        required = None if layout is None else layout.required
        return fits(self.gang_places(workload), carried, workload.gang.min, required, slices)

    def _select(self, totals: dict[int, float], task: str) -> int | None:
        rows = sorted(totals)
        if not rows:
            return None
        if self.profile.select == "round_robin":
            return next((row for row in rows if row > self.cursor), rows[0])
        if self.profile.select == "random":
            digest = blake2b(f"{self._seed}/{task}".encode(), digest_size=8).digest()
            return rows[int.from_bytes(digest, "big") % len(rows)]
        return max(rows, key=lambda row: (totals[row], -row))

    # --- filters ---------------------------------------------------------------------------------------------

    def refusing(self, workload: Workload, node: ReferenceNode) -> list[str]:
        """The names of all filters that refuse a node."""
        ask = self.ask(workload)
        return [name for name in FILTERS if not self.passes(name, ask, node)]

    def passes(self, name: str, ask: Ask, node: ReferenceNode) -> bool:
        workload, labels, backend = ask.workload, node.definition.labels, node.definition.backend
        if name == "ready":
            return node.online and not node.cordoned and backend not in self.backends_down
        if name == "scope":
            return all(labels.get(key) == value for key, value in self._scope.items())
        if name == "backend":
            allowed = workload.backends.allow
            return ask.kind in node.definition.kinds and (
                not allowed or any(fnmatchcase(backend, pattern) for pattern in allowed)
            )
        if name == "node_selector":
            return all(labels.get(key) == value for key, value in workload.node_selector.items())
        if name == "node_affinity":
            required = workload.node_affinity.required
            insisted = [wish for wish in workload.node_affinity.preferred if wish.priority is not None]
            return (not required or any(satisfied(term, labels) for term in required)) and all(
                satisfied(wish, labels) for wish in insisted
            )
        if name == "constraints":
            return all(
                self._holds(one.expression, node) is (one.kind is not Demand.AVOID)
                for one in workload.constraints
                if one.kind is Demand.REQUIRE or one.priority is not None
            )
        if name == "workload_affinity":
            return ask.affinity is None or ask.affinity.required_kept(node)
        if name == "spread":
            return not workload.spread or self._is_even(ask, node)
        if name in ("gpu_model", "gpus"):
            return not workload.resources.gpu or self._has_gpus(name, ask, node)
        if name in ("promised", "bandwidth"):
            return True  # nobody was promised anything here, or says what links carry
        if name == "taints":
            return not untolerated(node.definition.taints, workload.tolerations, soft=False)
        return all(self.free(node, resource) >= amount for resource, amount in ask.needs.items())

    def _has_gpus(self, name: str, ask: Ask, node: ReferenceNode) -> bool:
        asked = ask.workload.resources
        if name == "gpu_model":
            return node.gpus.could_have(asked)
        # Where the amount is too small, that is the reason to give.
        return self.unallocated(node, "gpu") < ask.needs["gpu"] or node.gpus.choose(asked) is not None

    def _is_even(self, ask: Ask, node: ReferenceNode) -> bool:
        for spread in spreads_of(ask.workload):
            if spread.weight is None:
                skew = self._skew(ask, spread, node)
                if skew is None or skew > spread.max_skew:
                    return False
        return True

    def _skew(self, ask: Ask, spread: Spread, node: ReferenceNode) -> int | None:
        assert ask.affinity is not None
        return ask.affinity.skew(spread, node, lambda other: self._could_go(ask, other))

    def _could_go(self, ask: Ask, node: ReferenceNode) -> bool:
        """As far as what it says of nodes themselves is concerned; wishes are left out, also those insisted on."""
        workload = ask.workload
        required = workload.node_affinity.required
        return (
            all(self.passes(name, ask, node) for name in ("ready", "scope", "backend", "node_selector", "taints"))
            and (not required or any(satisfied(term, node.definition.labels) for term in required))
            and all(self._holds(one.expression, node) for one in workload.constraints if one.kind is Demand.REQUIRE)
        )

    def _holds(self, expression: Expression, node: ReferenceNode) -> bool:
        """What an expression may speak of here: name, labels, and amounts in the units of `node_in_cel`."""
        assert isinstance(expression, str)
        return expression_holds(expression, self.node_in_cel(node))

    def node_in_cel(self, node: ReferenceNode) -> dict[str, Any]:
        resources = ("cpu", "memory", "disk", "gpu", "slots")
        return {
            "name": node.definition.name,
            "labels": dict(node.definition.labels),
            "free": {name: in_units(name, self.unallocated(node, name)) for name in resources},
            "capacity": {name: in_units(name, node.capacity.get(name, 0)) for name in resources},
            "allocated": {name: in_units(name, node.allocated.get(name, 0)) for name in resources},
        }

    def schedulable(self, node: ReferenceNode, resource: str) -> int:
        return floor(node.capacity.get(resource, 0) * self._overcommit.get(resource, 1.0))

    def free(self, node: ReferenceNode, resource: str) -> int:
        if self._observing and resource in MEASURABLE:
            kept = self.schedulable(node, resource) - node.reserved.get(resource, 0)
            return kept - node.observed.get(resource, 0) - node.unseen.get(resource, 0)
        return self.unallocated(node, resource)

    def unallocated(self, node: ReferenceNode, resource: str) -> int:
        kept = self.schedulable(node, resource) - node.reserved.get(resource, 0)
        return kept - node.allocated.get(resource, 0)

    # --- scores ----------------------------------------------------------------------------------------------

    def _resource_utilisation(self, ask: Ask, node: ReferenceNode) -> float:
        """The mean share of what it asks for that would still be free with the task there."""
        free = needed = 0.0
        for resource in ask.asked:
            if capacity := node.capacity.get(resource, 0):
                free += self.unallocated(node, resource) * (1.0 / capacity)
                needed += ask.needs[resource] * (1.0 / capacity)
        return (free - needed) * (1.0 / len(ask.asked))

    def _load_balance(self, _: Ask, node: ReferenceNode) -> float:
        return 1.0 - load(node)

    def _affinity(self, ask: Ask, node: ReferenceNode) -> float:
        return self._preferred(ask, node, 0.5) - self._avoided(ask, node, 0.5) + 0.5

    def _preferred(self, ask: Ask, node: ReferenceNode, whole: float = 1.0) -> float:
        terms = ask.workload.node_affinity.preferred
        met = _terms_met(terms, node) + self._expressions_met(ask, Demand.PREFER, node)
        if ask.affinity is not None:
            wishes = [rule for rule in ask.affinity.rules if rule.weight and rule.relation != APART]
            met += [((rule.weight or 0.0) * 100.0, _met(ask.affinity.keeps(rule, node))) for rule in wishes]
        for spread in spreads_of(ask.workload):
            if spread.weight:
                skew = self._skew(ask, spread, node)
                met.append((spread.weight * 100.0, NOT_MET if skew is None else float(max(skew, 1))))
        return _share(met, bool(terms), whole)

    def _avoided(self, ask: Ask, node: ReferenceNode, whole: float = 1.0) -> float:
        if untolerated(node.definition.taints, ask.workload.tolerations, soft=True):
            return whole
        terms = ask.workload.node_affinity.avoided
        met = _terms_met(terms, node) + self._expressions_met(ask, Demand.AVOID, node)
        if ask.affinity is not None:
            wishes = [rule for rule in ask.affinity.rules if rule.weight and rule.relation == APART]
            met += [((rule.weight or 0.0) * 100.0, _met(not ask.affinity.keeps(rule, node))) for rule in wishes]
        return _share(met, bool(terms), whole)

    def _expressions_met(self, ask: Ask, kind: Demand, node: ReferenceNode) -> "Met":
        wishes = [one for one in ask.workload.constraints if one.kind is kind and one.weight]
        return [(one.weight * 100.0, _met(self._holds(one.expression, node))) for one in wishes]

    def _colocation(self, ask: Ask, node: ReferenceNode) -> float:
        wanted = (ask.workload.namespace, ask.workload.service)
        found = ask.workload.service is not None and any(
            (task.namespace, task.service) == wanted for task in node.tasks.values()
        )
        return 1.0 if found else 0.0

    def _network_proximity(self, ask: Ask, node: ReferenceNode) -> float:
        nearness, tasks = self._nearness(ask, node)
        return nearness * (1.0 / tasks) if tasks else 0.0

    def _related_proximity(self, ask: Ask, node: ReferenceNode) -> float:
        total = self._nearness(ask, node)[0]
        for name, mbps in ask.exchanged.items():
            share = mbps / sum(ask.exchanged.values())
            total += share * self._near_to(ask.workload.namespace, frozenset({name}), node)[0]
        return total

    def _heard(self, workload: Workload) -> dict[str, int]:
        """Who of the work that runs talks to it, and how much."""
        others = [task for node in self.present() for task in node.tasks.values() if task.name != workload.name]
        return {
            task.name: one.mbps
            for task in others
            if task.namespace == workload.namespace
            for one in task.traffic
            if one.to == workload.name
        }

    def _nearness(self, ask: Ask, node: ReferenceNode) -> tuple[float, int]:
        return self._near_to(ask.workload.namespace, ask.near, node)

    def _near_to(self, namespace: str, names: frozenset[str], node: ReferenceNode) -> tuple[float, int]:
        """Sum of 1 - distance / 100 over the tasks of workloads of these names, and how many those are."""
        total, tasks = 0.0, 0
        for other in self.present() if names else ():
            count = sum(t.namespace == namespace and t.name in names for t in other.tasks.values())
            if count:
                total += count * (1.0 - self.distance(node, other) / 100.0)
                tasks += count
        return total, tasks

    def distance(self, node: ReferenceNode, other: ReferenceNode) -> float:
        if node is other:
            return 0.0
        measured = self.measured.get((node.definition.name, other.definition.name))
        if measured is not None:
            return measured
        levels = [level for level in LEVELS if any(level in n.definition.labels for n in self.present())]
        step = 100.0 / (len(levels) + 1)
        for depth, level in reversed(list(enumerate(levels))):
            ours = node.definition.labels.get(level)
            if ours is not None and ours == other.definition.labels.get(level):
                return 100.0 - step * (depth + 1)
        return 100.0

    def _least_loaded(self, _: Ask, node: ReferenceNode) -> float:
        total = 0.0
        for resource, weight in BLEND:
            total += node.share(resource) * weight
        return 1.0 - total

    def _best_fit(self, ask: Ask, node: ReferenceNode) -> float:
        total = 0.0
        for resource, weight in BLEND:
            total += node.share(resource, ask.needs.get(resource, 0)) * weight
        return total

    def _resource_balance(self, ask: Ask, node: ReferenceNode) -> float:
        shares = [node.share(name, ask.needs.get(name, 0)) for name in {"cpu", "memory", *ask.needs} - {"slots"}]
        return 1.0 - (max(shares) - min(shares))

    def _domain(self, node: ReferenceNode) -> list[ReferenceNode]:
        leaf = node.definition.labels.get("leaf")
        return [n for n in self.present() if n.definition.labels.get("leaf") == leaf] if leaf is not None else [node]

    def _domain_availability(self, ask: Ask, node: ReferenceNode) -> float:
        shares = []
        for resource in ask.asked:
            capacity = sum(n.capacity.get(resource, 0) for n in self._domain(node))
            free = sum(max(0, self.unallocated(n, resource)) for n in self._domain(node))
            shares.append(free / capacity if capacity else 0.0)
        return min(1.0, *shares)

    def _topology_alignment(self, ask: Ask, node: ReferenceNode) -> float:
        """For a job of one task: is there room for it in the domain?"""
        fits = 0
        for other in self._domain(node):
            if self.passes("ready", ask, other):
                fits += min(max(0, self.unallocated(other, name)) // need for name, need in ask.needs.items())
        return min(1.0, float(fits))

    def _domain_utilisation(self, ask: Ask, node: ReferenceNode) -> float:
        shares = []
        for resource in ask.asked:
            capacity = sum(n.capacity.get(resource, 0) for n in self._domain(node))
            used = sum(n.allocated.get(resource, 0) for n in self._domain(node))
            shares.append(used / capacity if capacity else 0.0)
        return max(0.0, *shares)

    def _domain_packing(self, _: Ask, node: ReferenceNode) -> float:
        """The share of GPUs in use in the narrowest domain that nodes share."""
        for level in reversed(LEVELS):
            carried = [n.definition.labels[level] for n in self.present() if level in n.definition.labels]
            if len(set(carried)) < len(carried):
                own = node.definition.labels.get(level)
                domain = [n for n in self.present() if own is not None and n.definition.labels.get(level) == own]
                capacity = sum(n.capacity.get("gpu", 0) for n in domain or [node])
                return sum(n.allocated.get("gpu", 0) for n in domain or [node]) / capacity if capacity else 1.0
        return 0.0

    def _domain_history(self, _: Ask, node: ReferenceNode) -> float:
        """The share of tasks that ended well, over how many times as long as usual tasks took, if that is above 1."""
        ended = [ok for n in self._domain(node) for ok in n.ended]
        well = sum(ended) / len(ended) if ended else 1.0
        took = weight = 0.0
        for other in self._domain(node):
            own = own_weight = 0.0
            for slowdown in other.slowdowns:
                own, own_weight = own * 0.9 + slowdown, own_weight * 0.9 + 1.0
            took, weight = took + own, weight + own_weight
        return well * min(1.0, weight / took) if took else well

    def _gpu_model_preference(self, ask: Ask, node: ReferenceNode) -> float:
        return node.gpus.preference(ask.workload.resources)

    def _image_locality(self, ask: Ask, node: ReferenceNode) -> float:
        image = ask.workload.run.image or ""
        return 1.0 if f"image/{image}" in node.definition.labels else 0.0  # names here are in the one spelling

    def _fragmentation(self, _: Ask, __: ReferenceNode) -> float:
        return 0.0  # goes by what usually comes, which is not known here: `reference_fragments` has its oracle

    _gpu_scarcity = _fragmentation

    def _gpu_support(self, ask: Ask, node: ReferenceNode) -> float:
        gpus, *others = [self._share_left(ask, node, resource) for resource in ("gpu", "cpu", "memory")]
        return max(0.0, min(gpus, *others)) - gpus if gpus > 0 else 0.0

    def _share_left(self, ask: Ask, node: ReferenceNode, resource: str) -> float:
        capacity = node.capacity.get(resource, 0)
        return (self.unallocated(node, resource) - ask.needs.get(resource, 0)) * (1.0 / capacity) if capacity else 0.0

    def _price(self, ask: Ask, node: ReferenceNode) -> float:
        return MarketOracle(ask.workload, node.definition).points("price")

    def _start(self, ask: Ask, node: ReferenceNode) -> float:
        return MarketOracle(ask.workload, node.definition).points("start")

    def _carbon(self, ask: Ask, node: ReferenceNode) -> float:
        return MarketOracle(ask.workload, node.definition).points("carbon")

    def _egress(self, ask: Ask, node: ReferenceNode) -> float:
        return MarketOracle(ask.workload, node.definition).points("egress")

    def _risk(self, ask: Ask, node: ReferenceNode) -> float:
        return MarketOracle(ask.workload, node.definition).points("risk")

    def _local(self, ask: Ask, node: ReferenceNode) -> float:
        return MarketOracle(ask.workload, node.definition).points("local")

    def _gpu_packing(self, ask: Ask, node: ReferenceNode) -> float:
        return node.share("gpu", ask.needs.get("gpu", 0)) if node.capacity.get("gpu") else 1.0


def load(node: ReferenceNode) -> float:
    """The mean share of CPU, memory and task slots in use."""
    return (node.share("cpu") + node.share("memory") + node.share("slots")) / 3.0


def in_units(resource: str, amount: int) -> float | int:
    """As expressions count: cores and devices with fractions, bytes and slots whole."""
    return amount / 1000.0 if resource in ("cpu", "gpu") else amount


Met = list[tuple[float, float]]  # what a wish weighs, and by what its points are divided
NOT_MET = inf


def _met(holds: bool) -> float:
    return 1.0 if holds else NOT_MET


def _terms_met(terms: Sequence[WeightedTerm], node: ReferenceNode) -> Met:
    return [(term.weight, _met(satisfied(term, node.definition.labels))) for term in terms]


def _share(wishes: Met, terms: bool, whole: float) -> float:
    """Each wish adds its part of the whole, in the order written. Terms share the whole out among all; other wishes
    alone get no more than their weight, of 100."""
    weights = sum(weight for weight, _ in wishes)
    each = whole / (weights if terms else max(weights, 100.0)) if wishes else 0.0
    total = 0.0
    for weight, divisor in wishes:
        total += weight * each / divisor
    return total


def satisfied(term: NodeTerm, labels: Mapping[str, str]) -> bool:
    return all(label_matches(match, labels.get(match.key)) for match in term.match)


def label_matches(match: LabelMatch, value: str | None) -> bool:
    match match.operator:
        case Operator.IN:
            return value in match.values
        case Operator.NOT_IN:
            return value not in match.values
        case Operator.EXISTS:
            return value is not None
        case Operator.DOES_NOT_EXIST:
            return value is None
    if value is None or not re.fullmatch(r"[+-]?[0-9]+", value):
        return False
    bound = int(match.values[0])
    return int(value) > bound if match.operator is Operator.GT else int(value) < bound


def untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration], *, soft: bool) -> list[Taint]:
    """The taints that no toleration covers: those of effect PreferNoSchedule if `soft`, else all others."""
    return [
        taint
        for taint in taints
        if (taint.effect is Effect.PREFER_NO_SCHEDULE) == soft and not any(_covers(t, taint) for t in tolerations)
    ]


def _covers(toleration: Toleration, taint: Taint) -> bool:
    same_value = toleration.operator is TolerationOperator.EXISTS or toleration.value == taint.value
    return toleration.key in (None, taint.key) and toleration.effect in (None, taint.effect) and same_value
