"""What of the engine's state needs a person: nodes that take no work, gangs that wait although enough is free, work
that no node could ever take.

Guarantees: every piece is short, and what is found is bounded: alike work is one finding with its number. "Never" is
about the nodes there are now, if nothing ran on them: a node that joins may change it.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.network.domain_table import WHOLE_GPUS
from dovetail.cluster.network.levels import present_levels
from dovetail.engine.pieces import Pieces
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import QueuePlace, Work
from dovetail.model.device import WHOLE
from dovetail.model.requests.shape import Shape
from dovetail.model.resources import GPU, show_amount
from dovetail.model.workloads.affinity import HOST

WORKS = 2000  # workloads that are looked at in one piece
MOST_CLASSES = 100  # of waiting work, the most frequent ones
#: Why work waits that no node may take, whatever ends on them.
_NO_NODE_QUALIFIES = frozenset(
    {
        "backend_not_allowed",
        "constraint_unsatisfied",
        "node_affinity_mismatch",
        "node_selector_mismatch",
        "outside_scope",
        "unsuitable_gpus",
        "untolerated_taint",
    }
)


class NodeFinding(NamedTuple):
    """`tasks` hold it. `until`: when a quarantine ends."""

    name: str
    reason: str
    tasks: int
    until: float | None = None


class WorkExample(NamedTuple):
    id: int
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class SplitGang:
    """Gangs alike that wait for `needed` GPUs within one domain of a level: `free` are free in all, the domain with
    most has `largest_free` of its `largest_gpus`."""

    count: int
    example: WorkExample
    level: str
    needed: int
    free: int
    largest: str
    largest_free: int
    largest_gpus: int


@dataclass(frozen=True, slots=True)
class NeverFits:
    """Workloads alike that no node could take; `why` in words. `qualified`: some node may take them, and none is large
    enough. `resource`: of which no single node has as much."""

    count: int
    example: WorkExample
    why: str
    qualified: bool
    resource: str = ""


@dataclass(frozen=True, slots=True)
class EngineFindings:
    """`heads`: the first that waits of each queue."""

    silent: list[NodeFinding]
    quarantined: list[NodeFinding]
    split: list[SplitGang]
    never: list[NeverFits]
    heads: list[tuple[str, WorkExample]]


class _WaitingClass(NamedTuple):
    """`shape`: its digest, since comparing shapes takes long. `why`: what said no, where other work does not matter."""

    shape: int
    together: int
    why: str


class AttentionQuestions:
    def __init__(self, state: EngineState) -> None:
        self._state = state

    def findings(self) -> Pieces[EngineFindings]:
        silent, quarantined = list(self._silent()), list(self._quarantined())
        yield
        classes: Counter[_WaitingClass] = Counter()
        examples: dict[_WaitingClass, Work] = {}  # the first, since work is in the order of its arrival
        heads: dict[int, Work] = {}
        work = list(self._state.work.values())
        for first in range(0, len(work), WORKS):
            for one in work[first : first + WORKS]:
                if one.queue_place is QueuePlace.NOWHERE:
                    continue
                head = heads.get(one.queue)
                if head is None or one.rank < head.rank:
                    heads[one.queue] = one
                if one.queue_place is QueuePlace.PARKED:
                    why = one.message if one.reason in _NO_NODE_QUALIFIES else ""
                    found = _WaitingClass(one.shape.digest, one.gang_short, why)
                    classes[found] += 1
                    if found not in examples:
                        examples[found] = one
            yield
        split: list[SplitGang] = []
        never: list[NeverFits] = []
        for waiting, count in classes.most_common(MOST_CLASSES):
            work_of, example = examples[waiting], _example(examples[waiting])
            why, resource = (waiting.why, "") if waiting.why else self._beyond_any(work_of.shape, waiting.together)
            if why:
                never.append(NeverFits(count, example, why, not waiting.why, resource))
            elif (gang := self._split(work_of.shape, waiting.together, count, example)) is not None:
                split.append(gang)
            yield
        queues = self._state.router.queues
        first_ones = [(queues[code].path, _example(head)) for code, head in heads.items()]
        return EngineFindings(silent, quarantined, split, never, first_ones)

    def _silent(self) -> Iterator[NodeFinding]:
        cluster, n = self._state.cluster, self._state.cluster.width
        for row in np.flatnonzero(cluster.status.present[:n] & ~cluster.status.online[:n]).tolist():
            name = cluster.names[row]
            yield NodeFinding(name, cluster.status.offline_reasons.get(name, ""), len(cluster.placements.by_row[row]))

    def _quarantined(self) -> Iterator[NodeFinding]:
        cluster, failures = self._state.cluster, self._state.node_failures
        for name, reason in cluster.status.quarantines.items():
            known = failures.get(name)
            tasks = len(cluster.placements.by_row[cluster.rows[name]])
            yield NodeFinding(name, reason, tasks, None if known is None else known.until)

    def _beyond_any(self, shape: Shape, together: int) -> tuple[str, str]:
        """Why all nodes together, with nothing on them, have no room for so many tasks, empty if they have; and the
        resource of which no single node has enough."""
        cluster = self._state.cluster
        tables, rows = cluster.resources, np.flatnonzero(cluster.status.present[: cluster.width])
        if not len(rows):
            return "", ""
        fits: F8 = np.full(len(rows), np.inf)
        for name, needed in shape.amounts:
            index = tables.index.get(name)
            has = np.zeros(len(rows)) if index is None else tables.schedulable[index, rows]
            if has.max() < needed:
                best, at = has.max(), int(rows[int(has.argmax())])
                largest = (
                    f"the largest node, {cluster.names[at]}, has {show_amount(name, best)}" if best else "none has any"
                )
                return f"no node has {show_amount(name, needed)} of {name}; {largest}", name
            if needed:
                fits = np.minimum(fits, np.floor(has / needed))
        if not (fits >= 1).any():
            return "no node has enough of everything that it asks for", ""
        total = fits.sum()
        if total >= together:
            return "", ""
        return f"{together:,} tasks have to start together, and all nodes have room for {total:,.0f}", ""

    def _split(self, shape: Shape, together: int, count: int, example: WorkExample) -> SplitGang | None:
        """A gang that waits although as many GPUs as it needs are free."""
        each = next((amount for name, amount in shape.amounts if name == GPU), 0)
        if together < 2 or each < WHOLE:
            return None
        cluster = self._state.cluster
        needed = together * each // WHOLE
        ready = cluster.status.ready[: cluster.width]
        whole = cluster.devices.whole[: cluster.width] * ready
        free = int(whole.sum())
        if free < needed:
            return None
        wanted = shape.layout.required if shape.layout is not None else None
        level = next((one for one in present_levels(cluster) if wanted in (one.name, one.level.key)), None)
        if level is None:
            row = int(whole.argmax())
            gpus = int(cluster.devices.there[row].sum())
            return SplitGang(count, example, HOST, needed, free, cluster.names[row], int(whole[row]), gpus)
        by_domain = self._state.domains.sums(level.name)[WHOLE_GPUS].copy()
        by_domain[0] = -1
        code = int(by_domain.argmax())
        there = cluster.devices.there[: cluster.width].sum(axis=1)
        gpus = int(there[level.column.codes[: cluster.width] == code].sum())
        return SplitGang(count, example, level.name, needed, free, level.domain(code), int(by_domain[code]), gpus)


def _example(work: Work) -> WorkExample:
    return WorkExample(work.id, work.namespace, work.name)
