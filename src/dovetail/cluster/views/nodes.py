"""Columns of what nodes are: labels, taints, status, kinds, backends, and how tasks fared there."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dovetail.cluster.arrays import B1, F8, I4
from dovetail.cluster.labels import ABSENT, LabelColumn, T, TaintSet, value_matches
from dovetail.cluster.views.rows import RowsOfView
from dovetail.model.requests.asks import Match, Term
from dovetail.model.workloads.workload import WorkloadKind


class NodeColumns(RowsOfView):
    def matches(self, match: Match) -> B1 | bool:
        """Which nodes satisfy one label comparison; a plain bool when all answer alike."""
        column = self._cluster.labels.columns.get(match.key)
        return value_matches(None, match) if column is None else self._cut(column.mask(match))

    def satisfies(self, term: Term) -> B1 | bool:
        """Which nodes satisfy every comparison of a term."""
        found: B1 | bool = True
        for match in term:
            one = self.matches(match)
            if one is False:
                return False
            found = one if found is True else found if one is True else found & one
        return found

    def weighted(self, term: Term, weight: float) -> F8 | float:
        """`weight` where a term is satisfied, 0 elsewhere; a plain float when that is the same for all."""
        if len(term) == 1 and (column := self._cluster.labels.columns.get(term[0].key)) is not None:
            return self._cut(column.number(term[0])) * weight
        found = self.satisfies(term)
        return found * weight if isinstance(found, bool) else np.multiply(found, weight, dtype=np.float64)

    def label(self, key: str, position: int) -> str | None:
        column = self._cluster.labels.columns.get(key)
        return None if column is None else column.value(int(self.rows[position]))

    def label_codes(self, key: str) -> tuple[I4, LabelColumn] | None:
        """Codes of this view's nodes and the column that says what they mean; None where no node has had the label."""
        column = self._cluster.labels.columns.get(key)
        return None if column is None else (self._cut(column.codes), column)

    @property
    def label_counts(self) -> F8:
        """How many labels each node has."""
        found = np.zeros(self._cluster.width)
        for column in self._cluster.labels.columns.values():
            found += column.codes[: len(found)] != ABSENT
        return self._cut(found)

    @property
    def kind_bits(self) -> I4:
        """Which kinds of workloads each node runs: bit i for the i-th kind."""
        return self._cut(self._cluster.kinds)

    @property
    def taint_sets(self) -> Sequence[TaintSet]:
        """The distinct sets; `taint_codes` says which one a node has."""
        return self._cluster.taints.sets

    @property
    def taint_codes(self) -> I4:
        return self._cut(self._cluster.taints.codes)

    @property
    def has_soft_taints(self) -> bool:
        """Has any node ever had a PreferNoSchedule taint?"""
        return self._cluster.taints.any_soft

    def by_taints(self, key: Hashable, of_set: Callable[[TaintSet], T]) -> npt.NDArray[Any] | T:
        """What `of_set` says of each node's taint set, a bool or a float; the answer is cached under `key`."""
        found = self._cluster.taints.ask(key, of_set)
        return self._cut(found) if isinstance(found, np.ndarray) else found

    @property
    def ready(self) -> B1:
        """Online, not cordoned, backend available."""
        return self._cut(self._cluster.status.ready)

    @property
    def present(self) -> B1:
        """False for vacant rows."""
        return self._cut(self._cluster.status.present)

    @property
    def online(self) -> B1:
        return self._cut(self._cluster.status.online)

    @property
    def cordoned(self) -> B1:
        return self._cut(self._cluster.status.cordoned)

    @property
    def quarantined(self) -> B1:
        found = np.zeros(self._cluster.width, dtype=np.bool_)
        found[[self._cluster.rows[name] for name in self._cluster.status.quarantines]] = True
        return self._cut(found)

    def status_reason(self, position: int) -> str:
        return self._cluster.status.reason(self.name(position))

    def runs(self, kind: WorkloadKind) -> B1 | bool:
        """Which nodes can run this kind of workload; plain True when all can."""
        found = self._cluster.runs(kind)
        return found if isinstance(found, bool) else self._cut(found)

    @property
    def backend_codes(self) -> I4:
        return self._cut(self._cluster.status.backends)

    @property
    def backend_names(self) -> Sequence[str]:
        return self._cluster.status.backend_names

    @property
    def backend_available(self) -> Sequence[bool]:
        return self._cluster.status.backend_available

    @property
    def succeeded(self) -> F8:
        """Tasks that ended on each node with exit status 0."""
        return self._cut(self._cluster.task_ends.succeeded)

    @property
    def failed(self) -> F8:
        """Tasks that ended on each node with another exit status."""
        return self._cut(self._cluster.task_ends.failed)

    @property
    def pace_sum(self) -> F8:
        """Of a mean over tasks that ran on each node, of how many times as long as usual they took: what they add up
        to."""
        return self._cut(self._cluster.task_ends.pace_sum)

    @property
    def pace_weight(self) -> F8:
        """And how many they count for."""
        return self._cut(self._cluster.task_ends.pace_weight)

    @property
    def status_as_of(self) -> int:
        """Changes whenever labels, taints or status of any node do."""
        return self._cluster.status_changes

    @property
    def outcomes_as_of(self) -> tuple[int, int, int]:
        """Changes whenever one of these four columns does, or nodes or domains do."""
        cluster = self._cluster
        return cluster.task_ends.changes, cluster.generation, cluster.topology.version
