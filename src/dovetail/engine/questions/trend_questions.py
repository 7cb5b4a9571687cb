"""One sample of how the cluster is, for those who keep it over time: use, fragmentation, waiting work.

Guarantees: every piece is short, whatever the size of the cluster: nodes and workloads are looked at some at a time.
The sample is bounded: so many domains and queues, the others summed up.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.network.levels import PresentLevel, present_levels
from dovetail.engine.pieces import Pieces
from dovetail.engine.questions.fragmentation import free_and_unusable
from dovetail.engine.questions.usage_gauges import UsageGauges
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import QueuePlace
from dovetail.model.resources import CPU, GPU, MEMORY, SLOTS

ROWS = 256  # nodes that are looked at in one piece
WORKS = 2000  # workloads, in the same way
MOST_DOMAINS = 64
MOST_QUEUES = 9
MOST_RESOURCES = 8
OTHERS = "others"
LEAF = "leaf"
NODE_RESOURCES = (CPU, MEMORY, GPU)
STALE_S = 120.0  # what a node measured longer ago says nothing about now


@dataclass(frozen=True, slots=True)
class TrendSample:
    """`totals`: allocated and capacity by resource, in its smallest unit. `fragmented`: the share of free GPU capacity
    that typical work cannot use; None without free GPUs. `wait_p90_s`: nine of ten waiting workloads have waited less;
    None if none waits. `use`: by domain, the allocated share of its GPUs, or of its cores where no node has GPUs."""

    totals: dict[str, tuple[int, int]]
    fragmented: float | None
    waiting: int
    wait_p90_s: float | None
    waiting_by_queue: dict[str, int]
    use: dict[str, float]


@dataclass(frozen=True, slots=True)
class NodeShares:
    """`values` is float64[node, 2 x resource]: the allocated share of each of `NODE_RESOURCES`, then the measured one.
    It is nan where the node has nothing of it, or does not tell."""

    names: list[str]
    values: F8


class TrendQuestions:
    def __init__(self, state: EngineState, gauges: UsageGauges) -> None:
        self._state, self._gauges = state, gauges

    def sample(self, now: float) -> Pieces[TrendSample]:
        totals = {name: both for name, both in self._gauges.totals().items() if name != SLOTS and both[1]}
        kept = dict(list(totals.items())[:MOST_RESOURCES])
        use = self._use(GPU if GPU in totals else CPU)
        yield
        fragmented = yield from self._fragmented() if GPU in totals else _nothing()
        waits_s: list[float] = []
        by_queue: Counter[int] = Counter()
        work = list(self._state.work.values())
        for first in range(0, len(work), WORKS):
            for one in work[first : first + WORKS]:
                if one.queue_place is not QueuePlace.NOWHERE:
                    waits_s.append(now - one.submitted_at)
                    by_queue[one.queue] += 1
            yield
        p90 = float(np.percentile(waits_s, 90)) if waits_s else None
        return TrendSample(kept, fragmented, len(waits_s), p90, self._named(by_queue), use)

    def node_shares(self, now: float) -> NodeShares:
        """Short: some operations on columns. A resource of which a node has never measured any use is taken as one that
        it does not measure: whoever reports its use leaves out what it cannot see."""
        cluster = self._state.cluster
        tables, trend, n = cluster.resources, cluster.usage_trend, cluster.width
        indexes = [tables.index[name] for name in NODE_RESOURCES]
        capacity = tables.capacity[indexes, :n]
        capacity = np.where(capacity > 0, capacity, np.nan)
        level = np.zeros((len(indexes), n))
        there = [place for place, index in enumerate(indexes) if index < len(trend.level)]
        level[there] = trend.level[[indexes[place] for place in there], :n]
        is_told = (level != 0) & cluster.status.online[:n] & (now - trend.at[:n] <= STALE_S)
        observed = np.where(is_told, tables.observed[indexes, :n], np.nan)
        values = np.concatenate([tables.allocated[indexes, :n] / capacity, observed / capacity])
        rows = np.flatnonzero(cluster.status.present[:n])
        return NodeShares([cluster.names[row] for row in rows.tolist()], values.T[rows])

    def _named(self, by_queue: Counter[int]) -> dict[str, int]:
        """The longest ones, and the others together."""
        queues, longest = self._state.router.queues, by_queue.most_common()
        found = {queues[code].path: waiting for code, waiting in longest[:MOST_QUEUES]}
        others = sum(waiting for _, waiting in longest[MOST_QUEUES:])
        return found | ({OTHERS: others} if others else {})

    def _fragmented(self) -> Pieces[float | None]:
        cluster = self._state.cluster
        rows = np.flatnonzero(cluster.status.ready[: cluster.width])
        free = lost = 0.0
        for first in range(0, len(rows), ROWS):
            part_free, part_lost = free_and_unusable(self._state, rows[first : first + ROWS])
            free, lost = free + float(part_free.sum()), lost + float(part_lost.sum())
            yield
        return lost / free if free else None

    def _use(self, resource: str) -> dict[str, float]:
        """By domain of the narrowest level that has few enough; of single nodes where nodes are in no domains."""
        cluster = self._state.cluster
        tables, n = cluster.resources, cluster.width
        index = tables.index[resource]
        taken, capacity = tables.allocated[index, :n], tables.capacity[index, :n]
        level = self._level()
        if level is None:
            names = sorted(cluster.rows)[:MOST_DOMAINS]
            rows = [(name, cluster.rows[name]) for name in names]
            return {name: float(taken[row] / capacity[row]) for name, row in rows if capacity[row]}
        codes, size = level.column.codes[:n], len(level.column.vocabulary) + 1
        part, whole = np.bincount(codes, taken, size), np.bincount(codes, capacity, size)
        there = [code for code in np.flatnonzero(whole).tolist() if code][:MOST_DOMAINS]
        return {level.domain(code): float(part[code] / whole[code]) for code in there}

    def _level(self) -> PresentLevel | None:
        """The leaf where there are leaves, which is what people look at; else the narrowest with few enough domains."""
        levels = present_levels(self._state.cluster)
        width = self._state.cluster.width
        leaves = [level for level in levels if level.name == LEAF]
        for level in (*leaves, *reversed(levels)):
            codes = np.unique(level.column.codes[:width])
            if np.count_nonzero(codes) <= MOST_DOMAINS:
                return level
        return levels[0] if levels else None


def _nothing() -> Pieces[float | None]:
    yield from ()
    return None
