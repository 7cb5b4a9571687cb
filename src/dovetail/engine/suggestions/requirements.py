"""The requirements of a workload, one for each thing that its user wrote, and the nodes that fail them.

Guarantees: the filter that decides also says which nodes satisfy a requirement. It is asked with a shape that holds
this requirement and nothing else, so no rule is written twice. Preferences are left out: they are dropped before
anything waits. A filter about the workload that has no requirement of its own here (those of other packages) is one
requirement. Filters about the scheduler decide which nodes are considered. Promises to others are left out.
Left to others: which requirements no node satisfies together (`unsatisfiable_core`), and what to change (`remedies`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dovetail.cluster.arrays import B1, Rows
from dovetail.cluster.views.view import View
from dovetail.constraints.programs.program import compile_node
from dovetail.model.requests.asks import AffinityRule, ConstraintAsk, SpreadRule
from dovetail.model.requests.shape import Shape
from dovetail.model.requests.shaping import affinity_rules_of, kept_together, spread_of
from dovetail.model.resources import GPU, SLOTS, show_amount
from dovetail.model.text.complaint import field_name
from dovetail.model.workloads.constraint import ConstraintKind as Demand
from dovetail.model.workloads.workload import Workload, WorkloadKind
from dovetail.placement.contract import Concern, Filter, Request
from dovetail.placement.pipeline.evaluation import Evaluator

BACKEND, SELECTOR, AFFINITY = "backend", "node_selector", "node_affinity"
TAINTS, CONSTRAINTS, WORKLOAD_AFFINITY, SPREAD = "taints", "constraints", "workload_affinity", "spread"
RESOURCES, GPU_MODEL, FREE_GPUS = "resources", "gpu_model", "gpus"

#: Whose rules about other work are that the workload did not write itself.
_NOT_ITS_OWN = "a policy"

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class WorkloadRequirement:
    """One requirement on a node: the path where it was written, its words, the filter that decides on it, and a shape
    that asks for nothing else. `source`: its owner, if that is not the workload: `policy ssd-only`."""

    path: Path
    words: str
    filter: str
    shape: Shape
    source: str = ""

    @property
    def field(self) -> str:
        """As users read it: `resources.memory`, `constraints[0].require`."""
        return self.source or field_name(self.path)


@dataclass(frozen=True, slots=True)
class Findings:
    """`fails`: bool[requirement, row], over the rows that are looked at."""

    requirements: tuple[WorkloadRequirement, ...]
    rows: Rows
    fails: B1

    def satisfied_alone(self, position: int) -> int:
        """By how many nodes, if nothing else were asked for."""
        return int(len(self.rows) - np.count_nonzero(self.fails[position]))


def requirements_of(shape: Shape, spec: Workload) -> tuple[WorkloadRequirement, ...]:
    """In the order of the filters; `spec` says where each was written."""
    whole = shape.least
    blank = _blank(whole)
    return (
        *_about_backends(whole, blank),
        *_about_labels(whole, blank),
        *_about_gpus(whole, blank),
        *_about_expressions(whole, blank),
        *_about_other_work(whole, blank, spec),
        WorkloadRequirement((), "no other work that repels it", WORKLOAD_AFFINITY, blank),
        *_about_room(whole, blank),
    )


def _blank(shape: Shape) -> Shape:
    """A task that asks for nothing, but is known by the same name to the same scheduler."""
    return Shape((), shape.kind, shape.scheduler, shape.profile, shape.namespace, shape.service)


def _about_backends(whole: Shape, blank: Shape) -> Iterator[WorkloadRequirement]:
    yield WorkloadRequirement(("kind",), f"support for kind {whole.kind}", BACKEND, blank)
    if whole.backends:
        asked = replace(blank, backends=whole.backends)
        yield WorkloadRequirement(("backends", "allow"), f"backend {' or '.join(whole.backends)}", BACKEND, asked)


def _about_labels(whole: Shape, blank: Shape) -> Iterator[WorkloadRequirement]:
    for key, value in whole.node_selector:
        asked = replace(blank, node_selector=((key, value),))
        yield WorkloadRequirement(("node_selector", key), f"{key}={value}", SELECTOR, asked)
    if whole.required:
        words = " or ".join(" and ".join(map(str, term)) for term in whole.required)
        yield WorkloadRequirement(
            ("node_affinity", "required"), words, AFFINITY, replace(blank, required=whole.required)
        )
    borne = ", ".join(dict.fromkeys(t.key or "any" for t in whole.tolerations))
    words = f"only taints it tolerates ({borne})" if borne else "no taints"
    yield WorkloadRequirement(("tolerations",), words, TAINTS, replace(blank, tolerations=whole.tolerations))


def _about_gpus(whole: Shape, blank: Shape) -> Iterator[WorkloadRequirement]:
    """Which GPUs the node must have, free or not; whether they are free is a question of capacity."""
    ask = whole.gpus
    if ask is not None and ask.is_picky:
        field = "gpu_model" if ask.models else "gpu_memory" if ask.memory else "gpu_island"
        yield WorkloadRequirement(("resources", field), str(ask), GPU_MODEL, replace(blank, gpus=ask))


def _about_expressions(whole: Shape, blank: Shape) -> Iterator[WorkloadRequirement]:
    own = 0
    for want in whole.wants:
        path: Path = () if want.source else ("constraints", own, str(want.demand))
        own += not want.source
        if want.demand is Demand.REQUIRE:
            for part in compile_node(want.text).parts:
                asked = replace(blank, wants=(ConstraintAsk(Demand.REQUIRE, part.text, source=want.source),))
                yield WorkloadRequirement(path, part.text, CONSTRAINTS, asked, want.source)


def _about_other_work(whole: Shape, blank: Shape, spec: Workload) -> Iterator[WorkloadRequirement]:
    written: dict[object, Path] = {}
    for index, affinity in enumerate(spec.affinity):
        written |= dict.fromkeys(affinity_rules_of([affinity], (), spec.namespace, spec.name), ("affinity", index))
    for index, conflict in enumerate(spec.conflicts):
        written |= dict.fromkeys(affinity_rules_of((), [conflict], spec.namespace, spec.name), ("conflicts", index))
    for index, spread in enumerate(spec.spread):
        written |= dict.fromkeys(spread_of([spread], spec.namespace, spec.name), ("spread", index))
    if spec.topology is not None:
        written |= dict.fromkeys(kept_together(spec), ("topology", "required"))
    # Only domains count that it could go to, and that follows from what it says of nodes.
    eligible = replace(
        blank, node_selector=whole.node_selector, required=whole.required, tolerations=whole.tolerations,
        wants=whole.wants,
    )  # fmt: skip
    rules: list[tuple[AffinityRule | SpreadRule, str, str, Shape]] = []
    rules += [
        (one, f"a place {one}", WORKLOAD_AFFINITY, replace(blank, workload_affinity=(one,)))
        for one in whole.workload_affinity
    ]
    rules += [(one, f"a place that keeps it {one}", SPREAD, replace(eligible, spread=(one,))) for one in whole.spread]
    for rule, words, name, asked in rules:
        if rule.weight is None:
            path = written.get(rule, ())
            yield WorkloadRequirement(path, words, name, asked, "" if path else _NOT_ITS_OWN)


def _about_room(whole: Shape, blank: Shape) -> Iterator[WorkloadRequirement]:
    for resource, amount in whole.amounts:
        words = "a free task slot" if resource == SLOTS else f"{resource} {show_amount(resource, amount)} free"
        path: Path = () if resource == SLOTS else ("resources", resource)
        gpus = whole.gpus if resource == GPU else None
        yield WorkloadRequirement(path, words, RESOURCES, replace(blank, amounts=((resource, amount),), gpus=gpus))


# --- asking the filters ----------------------------------------------------------------------------------------


class Examination:
    """One request held against all nodes, requirement by requirement."""

    def __init__(self, evaluator: Evaluator, request: Request, view: View) -> None:
        self._evaluator, self._request, self._view = evaluator, request, view
        self._filters = {plugin.name: plugin for plugin in evaluator.filters}

    def findings(self, requirements: tuple[WorkloadRequirement, ...]) -> tuple[Findings, Findings]:
        """Over nodes that are there and in the scheduler's scope: those that take new work, and those that do not."""
        open_to_it, ready = self._open(), self._view.ready
        requirements = (*requirements, *self._of_other_filters(requirements))
        verdicts = np.array([self.satisfies(one) for one in requirements]).reshape(len(requirements), self._view.size)
        taking, closed = np.flatnonzero(open_to_it & ready), np.flatnonzero(open_to_it & ~ready)
        return (
            Findings(requirements, taking, ~verdicts[:, taking]),
            Findings(requirements, closed, ~verdicts[:, closed]),
        )

    def _of_other_filters(self, requirements: tuple[WorkloadRequirement, ...]) -> Iterator[WorkloadRequirement]:
        """One for each filter that decides about the workload and that none of the requirements names."""
        named = {one.filter for one in requirements}
        for plugin in self._evaluator.filters:
            if plugin.concern is Concern.WORKLOAD and plugin.name not in named:
                words = self._evaluator.requirement(plugin, self._request)
                if words is not None:
                    yield WorkloadRequirement((), words, plugin.name, self._request.shape)

    def satisfies(self, requirement: WorkloadRequirement) -> B1:
        """bool[node]"""
        plugin = self._filters.get(requirement.filter)
        if plugin is None:
            return np.ones(self._view.size, dtype=np.bool_)
        shape, alone = requirement.shape, replace(self._request, repelled=self._repelled(requirement))
        if requirement.path == ("backends", "allow"):
            # The filter looks at kinds as well: whatever kind of work the node runs, its backend is allowed.
            either: B1 = np.logical_or.reduce(
                [self._mask(plugin, alone, replace(shape, kind=kind)) for kind in WorkloadKind]
            )
            return either
        found = self._mask(plugin, alone, shape)
        if requirement.filter == RESOURCES and shape.gpus is not None:
            # Room for GPUs is also that they are in one piece; where there are no such GPUs, that is said elsewhere.
            pieces, models = (self._mask(self._filters[name], alone, shape) for name in (FREE_GPUS, GPU_MODEL))
            found = found & (pieces | ~models)
        return found

    def _repelled(self, requirement: WorkloadRequirement) -> tuple[AffinityRule, ...]:
        """Rules of placed work that repel it because of this requirement: members of a conflict set repel each other.
        All other rules of placed work are requirements of their own."""
        own = {whom.conflict for rule in self._request.shape.workload_affinity for whom in rule.whom} - {None}
        named = {whom.conflict for rule in requirement.shape.workload_affinity for whom in rule.whom}
        by_set = [(rule, {whom.conflict for whom in rule.whom} & own) for rule in self._request.repelled]
        if requirement.shape.workload_affinity:
            return tuple(rule for rule, sets in by_set if sets & named)
        return tuple(rule for rule, sets in by_set if not sets)

    def _mask(self, plugin: Filter, request: Request, shape: Shape) -> B1:
        needs = {name: float(amount) for name, amount in shape.amounts}
        answer, _ = self._evaluator.mask(plugin, replace(request, shape=shape, needs=needs), self._view)
        return np.broadcast_to(answer, self._view.size)

    def _open(self) -> B1:
        """Nodes that are kept from it by nothing but its own requirements, their state and what was promised."""
        found = self._view.present.copy()
        for plugin in self._evaluator.filters:
            if plugin.concern is Concern.SCHEDULER:
                answer, _ = self._evaluator.mask(plugin, self._request, self._view)
                found &= answer
        return found
