"""What a program reads: one view, seen from one namespace.

Guarantees: whatever the view shows (all rows, a few, or nodes as they would be), every array has one entry for each of
its nodes, or none where all are equal. Amounts come in the smallest unit, as in the tables; a resource that no node has
is 0. Sums over domains are computed once in an evaluation.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from dovetail.cluster.arrays import F8, Rows
from dovetail.cluster.views.view import View
from dovetail.constraints.programs.values import CLEAN, EVERYWHERE, Sets, Strings
from dovetail.model.resources import SLOTS
from dovetail.model.workloads.workload import WorkloadKind

UTILISATION, NODES = "utilisation", "nodes"
#: What there is to know of each resource, as `node.free.memory` names it.
AMOUNTS = ("capacity", "free", "allocated", "observed", "forecast")
TASKS = SLOTS  # every task takes one slot of its node

_NOTHING: F8 = np.zeros(())
_KINDS = tuple(
    tuple(kind.value for place, kind in enumerate(WorkloadKind) if bits >> place & 1)
    for bits in range(1 << len(WorkloadKind))
)


class EvaluationContext:
    """For one evaluation: what is cached here is true only while nothing changes."""

    def __init__(self, view: View, namespace: str, waiting: int = 0) -> None:
        self.view = view
        self.namespace = namespace
        self.waiting = waiting
        self._sums: dict[tuple[str, str, str], F8] = {}
        self._rows: dict[str, Rows] = {}

    @cached_property
    def whole(self) -> View:
        return self.view.whole

    # --- amounts ---------------------------------------------------------------------------------------------

    def of_node(self, what: str, resource: str) -> F8:
        if what == UTILISATION:
            return _share(self.of_node("allocated", resource), self.of_node("capacity", resource))
        found = _read(self.view, what, resource)
        return _NOTHING if found is None else found

    def of_domain(self, level: str, what: str, resource: str) -> F8:
        """Summed over each node's own domain."""
        if what == UTILISATION:
            return _share(self.of_domain(level, "allocated", resource), self.of_domain(level, "capacity", resource))
        key = (level, what, resource)
        if key not in self._sums:
            found = _read(self.whole, what, resource)
            self._sums[key] = _NOTHING if found is None else self.view.domain_sum(level, found)
        return self._sums[key]

    def of_named(self, level: str, name: str, what: str, resource: str) -> F8:
        """Summed over one domain; 0 where there is none of that name."""
        found = self.whole.level_codes(level)
        if found is None:
            row = self.view.row_of(name)
            members = self.whole.rows == (-1 if row is None else row)
        else:
            codes, column = found
            members = codes == column.code_of.get(name, -1)
        return self._total(what, resource, members.astype(np.float64))

    def of_all(self, what: str, resource: str) -> F8:
        return self._total(what, resource, self.whole.present.astype(np.float64))

    def _total(self, what: str, resource: str, members: F8) -> F8:
        if what == UTILISATION:
            return _share(self._total("allocated", resource, members), self._total("capacity", resource, members))
        found = _read(self.whole, what, resource)
        return _NOTHING if found is None else np.asarray((found * members).sum())

    # --- names and labels ------------------------------------------------------------------------------------

    @property
    def node_name(self) -> Strings:
        return Strings(self.view.rows, self.view.node_names, CLEAN, self.view.row_of)

    @property
    def backend(self) -> Strings:
        return Strings(self.view.backend_codes, self.view.backend_names)

    def label(self, key: str) -> Strings:
        found = self.view.label_codes(key)
        if found is None:
            return Strings(np.zeros((), dtype=np.intp), ("",), EVERYWHERE)
        codes, column = found
        code_of = column.code_of

        def find(value: str) -> int | None:
            code = code_of.get(value)
            return None if code is None else code - 1

        lacking = codes == 0
        return Strings(codes - 1, column.vocabulary, lacking if lacking.any() else CLEAN, find)

    def has_label(self, key: str) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        found = self.view.label_codes(key)
        return CLEAN if found is None else np.asarray(found[0] != 0)

    def domain_name(self, level: str) -> Strings:
        """The value of the level's label; of a node without it, which is alone, its own name."""
        found, own = self.view.level_codes(level), self.node_name
        if found is None:
            return own
        codes, column = found
        if codes.all():
            return Strings(codes - 1, column.vocabulary)
        values = [*column.vocabulary, *own.values]
        return Strings(np.where(codes > 0, codes - 1, len(column.vocabulary) + own.codes), values)

    @property
    def taints(self) -> Sets:
        return Sets(self.view.taint_codes, [[taint.key for taint in taints] for taints in self.view.taint_sets])

    @property
    def kinds(self) -> Sets:
        return Sets(self.view.kind_bits, _KINDS)

    # --- other work ------------------------------------------------------------------------------------------

    def rows_of(self, workload: str) -> Rows:
        found = self._rows.get(workload)
        if found is None:
            found = self._rows[workload] = self.view.workload_rows(self.namespace, workload)
        return found

    def nodes_of(self, workload: str) -> Sets:
        names = self.view.node_names
        return Sets(np.zeros((), dtype=np.intp), [sorted({names[row] for row in self.rows_of(workload).tolist()})])

    def tasks_here(self, workload: str) -> F8:
        rows = self.rows_of(workload)
        return self.view.on_rows(rows) if len(rows) else _NOTHING

    def distance_to_workload(self, workload: str) -> F8:
        return self.view.distance_to(self.rows_of(workload))

    def distance_to_node(self, name: str) -> F8:
        row = self.view.row_of(name)
        return self.view.distance_to(np.array([] if row is None else [row], dtype=np.intp))


def _read(view: View, what: str, resource: str) -> F8 | None:
    """A view of nodes as they would be overrides the method, so it is looked up on the view."""
    if what == NODES:
        return view.present.astype(np.float64)
    read: Callable[[str], F8 | None] = getattr(view, what)
    return read(resource)


def _share(part: F8, whole: F8) -> F8:
    """The share in use; 0 where there is nothing."""
    shape = np.broadcast_shapes(part.shape, whole.shape)
    return np.asarray(np.divide(part, whole, out=np.zeros(shape), where=whole > 0))
