"""Changes to a workload's requirements that would let more nodes pass: candidates, not yet checked.

For every small set of requirements that is all that some nodes fail, these nodes are grouped by what would have to
change for them (zone, taints, backend, …). Each group that is large enough becomes a candidate: the changes for it,
with amounts as large as the group has room for. Guarantees: at most three changes together; only what the workload
itself asks for is changed. Left to others: whether a candidate helps (`fit_trial`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dovetail.cluster.arrays import Rows
from dovetail.cluster.views.view import View
from dovetail.engine.gangs.headroom import Headroom
from dovetail.engine.suggestions.changes import (
    DefinitionChange,
    allow_backends,
    allow_gpu_models,
    allow_label,
    ask_for,
    definition,
    drop_gpu_field,
    drop_item,
    drop_selector,
    fewer_at_once,
    raise_skew,
    tolerate,
)
from dovetail.engine.suggestions.expressions import labels_in, loosen
from dovetail.engine.suggestions.fit_trial import FitTrial
from dovetail.engine.suggestions.requirements import (
    AFFINITY,
    BACKEND,
    CONSTRAINTS,
    GPU_MODEL,
    RESOURCES,
    SELECTOR,
    SPREAD,
    TAINTS,
    WORKLOAD_AFFINITY,
    Findings,
    WorkloadRequirement,
)
from dovetail.engine.suggestions.smaller_amounts import largest_amounts
from dovetail.engine.suggestions.unsatisfiable_core import minimal, signatures
from dovetail.engine.suggestions.wider_terms import widen
from dovetail.model.workloads.selection import Taint
from dovetail.placement.contract import Request
from dovetail.placement.filters.taints import untolerated
from dovetail.placement.workload_affinity import skews

MOST_CHANGES = 3
_MOST_SETS = 12  # of requirements that are failed together
_MOST_GROUPS = 2  # of nodes, for one set
_MOST_TOGETHER = 4  # groups that are allowed at once where one is too small
#: Filters for which it matters how many of its own tasks are placed already.
_TAKEN = frozenset({RESOURCES, WORKLOAD_AFFINITY, SPREAD})


@dataclass(frozen=True, slots=True)
class Nodes:
    """Rows that would pass, by what has to be changed for them; `samples` stand for all of their group."""

    samples: Rows
    rows: Rows


class Remedies:
    def __init__(self, trial: FitTrial, request: Request, findings: Findings, headroom: Headroom, wanted: int) -> None:
        self._state, self._spec, self._request = trial.state, trial.spec, request
        self._findings, self._headroom, self._wanted = findings, headroom, wanted
        self._allowed = trial.left_for_each(wanted)  # of resources that its quota is short of
        self._fails = findings.fails
        self._open = findings.rows[~self._fails.any(axis=0)]  # nodes that pass as it is

    def candidates(self) -> Iterator[tuple[DefinitionChange, ...]]:
        """Each is made of changes that belong together."""
        for failed in self._sets():
            members = [self._findings.requirements[i] for i in failed]
            if any(not _changeable(one) for one in members):
                continue
            rest = np.ones(len(self._fails), dtype=np.bool_)
            rest[list(failed)] = False
            passing = ~self._fails[rest].any(axis=0)  # of the requirements that stay
            named = [i for i in failed if not self._is_short(self._findings.requirements[i])]
            whole = passing & self._fails[named].all(axis=0)
            for nodes in self._groups(members, self._findings.rows[whole], self._findings.rows[passing]):
                changes = self._changes(members, nodes)
                if changes is not None:
                    yield changes

    def _sets(self) -> list[tuple[int, ...]]:
        """Positions of requirements that are failed together, the fewest first. Where some nodes pass but too few do,
        what the first of its tasks change for the others may be what has to change."""
        counts = signatures(self._fails)
        some_pass = counts.pop(0, 0) > 0
        requirements = self._findings.requirements
        short = sum(1 << i for i, one in enumerate(requirements) if self._is_short(one))
        found = minimal(one for one in counts if one.bit_count() <= MOST_CHANGES)
        if some_pass:
            taken = [i for i, one in enumerate(requirements) if one.filter in _TAKEN]
            found += [1 << i for i in taken if 1 << i not in found]
        found = list(dict.fromkeys(one | short for one in found if (one | short).bit_count() <= MOST_CHANGES))
        found.sort(key=lambda one: (one.bit_count(), -counts.get(one, 0), one))
        return [tuple(i for i in range(len(self._fails)) if one >> i & 1) for one in found[:_MOST_SETS]]

    def _is_short(self, requirement: WorkloadRequirement) -> bool:
        """Its quota does not allow so much, whatever nodes have."""
        return requirement.filter == RESOURCES and requirement.path[-1:] in [(name,) for name in self._allowed]

    # --- groups of nodes -------------------------------------------------------------------------------------

    def _groups(self, members: Sequence[WorkloadRequirement], failing: Rows, passing: Rows) -> Iterator[Nodes]:
        """Those that are large enough by themselves, the largest first; or several at once."""
        about_room = {one.path[1] for one in members if one.filter == RESOURCES}
        if not len(failing) or all(one.filter == RESOURCES for one in members):
            yield Nodes(failing[:1], passing)
            return
        fixed = {name: amount for name, amount in self._request.needs.items() if name not in about_room}
        copies = self._headroom.copies(failing, fixed)
        codes = self._codes(members, failing)
        distinct, first, inverse = np.unique(codes, axis=1, return_index=True, return_inverse=True)
        sizes = np.bincount(inverse.ravel(), np.minimum(copies, 1e9), distinct.shape[1])
        order = np.argsort(-sizes, kind="stable")
        base = self._headroom.copies(self._open, fixed).sum() if len(self._open) else 0.0
        enough = [g for g in order.tolist() if base + sizes[g] >= self._wanted][:_MOST_GROUPS]
        together = [[g] for g in enough]
        if not enough:
            reached = base + np.cumsum(sizes[order])
            count = int(np.searchsorted(reached, self._wanted)) + 1
            together = [order[: min(count, _MOST_TOGETHER)].tolist()]
        for groups in together:
            inside = np.isin(inverse.ravel(), groups)
            yield Nodes(failing[first[groups]], np.concatenate([self._open, failing[inside]]))

    def _codes(self, members: Sequence[WorkloadRequirement], rows: Rows) -> np.ndarray:
        """Equal columns for rows for which the same has to be changed."""
        cluster = self._state.cluster
        found: list[np.ndarray] = [np.zeros(len(rows), dtype=np.int64)]
        for one in members:
            if one.filter == TAINTS:
                found.append(cluster.taints.codes[rows])
            elif one.filter == BACKEND:
                found.append(cluster.status.backends[rows])
            elif one.filter == GPU_MODEL:
                found += list(cluster.devices.models[rows].T)
            else:
                found += [cluster.labels.columns[key].codes[rows] for key in self._keys(one)]
        return np.vstack(found)

    def _keys(self, requirement: WorkloadRequirement) -> list[str]:
        """Labels that it speaks of and that some node has."""
        shape = requirement.shape
        keys: list[str] = []
        if requirement.filter == SELECTOR:
            keys = [key for key, _ in shape.node_selector]
        elif requirement.filter == AFFINITY:
            keys = [match.key for term in shape.required for match in term]
        elif requirement.filter == CONSTRAINTS:
            keys = labels_in(shape.wants[0].text)
        return [key for key in dict.fromkeys(keys) if key in self._state.cluster.labels.columns]

    # --- changes for a group ---------------------------------------------------------------------------------

    def _changes(self, members: Sequence[WorkloadRequirement], nodes: Nodes) -> tuple[DefinitionChange, ...] | None:
        found: list[DefinitionChange] = []
        for one in members:
            if one.filter != RESOURCES:
                change = self._change(one, nodes)
                if change is None:
                    return None
                found.append(change)
        needs = dict(self._request.needs)
        about_room = [str(one.path[1]) for one in members if one.filter == RESOURCES]
        if about_room:
            amounts = largest_amounts(self._headroom, needs, about_room, nodes.rows, self._wanted, self._allowed)
            if amounts is None:
                return None
            short = " (its queue has no more left)"
            found += [
                ask_for(name, amount, needs[name], short if name in self._allowed else "")
                for name, amount in amounts.items()
            ]
            needs |= amounts
        fit = int(min(self._headroom.copies(nodes.rows, needs).sum(), self._wanted)) if len(nodes.rows) else 0
        if 0 < fit < self._wanted:
            found.append(fewer_at_once(self._spec, fit))
        return tuple(found) if fit and len(found) <= MOST_CHANGES else None

    def _change(self, one: WorkloadRequirement, nodes: Nodes) -> DefinitionChange | None:
        samples = nodes.samples.tolist()
        if one.filter == SELECTOR:
            return self._allow_label(one, samples)
        if one.filter == AFFINITY:
            terms = definition(self._spec)["node_affinity"]["required"]
            return widen(terms, [self._state.cluster.labels.row(row) for row in samples])
        if one.filter == TAINTS:
            return self._tolerate(samples)
        if one.filter == BACKEND:
            names = self._state.cluster.status.backend_names
            return allow_backends(
                list(dict.fromkeys(names[self._state.cluster.status.backends[row]] for row in samples))
            )
        if one.filter == CONSTRAINTS:
            return self._loosen(one, nodes)
        if one.filter == GPU_MODEL:
            return self._other_gpus(one, samples)
        return self._change_affinity_or_spread(one, nodes)

    def _allow_label(self, one: WorkloadRequirement, samples: list[int]) -> DefinitionChange:
        ((key, value),) = one.shape.node_selector
        column = self._state.cluster.labels.columns.get(key)
        values = [None if column is None else column.value(row) for row in samples]
        known = list(dict.fromkeys(other for other in values if other is not None))
        return allow_label(key, value, known) if len(known) == len(values) else drop_selector(key, value)

    def _tolerate(self, samples: list[int]) -> DefinitionChange:
        found: dict[Taint, None] = {}
        for row in samples:
            found |= dict.fromkeys(untolerated(self._request, self._state.cluster.taints.row(row), soft=False))
        return tolerate(list(found))

    def _other_gpus(self, one: WorkloadRequirement, samples: list[int]) -> DefinitionChange | None:
        """The models that those nodes have; or else no word about memory or islands."""
        ask = one.shape.gpus
        assert ask is not None
        if not ask.models:
            return drop_gpu_field(str(one.path[1]), ask)
        groups = [group for row in samples for group in self._state.cluster.devices.groups(row)]
        models = [group.model for group in groups if group.model is not None and group.model not in ask.models]
        return allow_gpu_models(list(dict.fromkeys(models))) if models else None

    def _loosen(self, one: WorkloadRequirement, nodes: Nodes) -> DefinitionChange:
        _, index, _ = one.path
        (want,) = one.shape.wants
        failing = np.setdiff1d(nodes.rows, self._open)
        return loosen(self._state, int(index), want.text, nodes.samples.tolist(), failing, self._wanted)

    def _change_affinity_or_spread(self, one: WorkloadRequirement, nodes: Nodes) -> DefinitionChange | None:
        field, *place = one.path
        if not place:
            return None
        index = int(place[0])
        if one.filter == SPREAD:
            (even,) = one.shape.spread
            skew, _ = skews(even, replace(self._request, shape=one.shape), View(self._state.cluster))
            # Each of the others may find its domain fuller by one.
            needed = int(skew[nodes.rows].min()) + self._wanted - 1 if len(nodes.rows) else 0
            return raise_skew(index, needed, even.level) if needed > even.max_skew else None
        (rule,) = one.shape.workload_affinity
        return drop_item(str(field), index, f"drop {rule}")


def _changeable(requirement: WorkloadRequirement) -> bool:
    """Its user wrote it, and could have written it otherwise: not what kind of work it is, nor that it is a task. How
    its tasks lie to each other is changed by `looser_layouts`."""
    return bool(requirement.path) and not requirement.source and requirement.path[0] not in ("kind", "topology")
