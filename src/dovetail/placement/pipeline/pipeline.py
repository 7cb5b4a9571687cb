"""One profile at work: filter, score, select, explain.

A shape that comes once is evaluated once. A shape that repeats gets a ranking cache (`RankingCache`); those caches are
bounded by memory. Both ways choose the same node: ties go to the lower row.
"""

from collections import OrderedDict
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from dovetail.cluster.arrays import B1, F8, Rows
from dovetail.cluster.devices import Slots
from dovetail.cluster.state import Cluster
from dovetail.cluster.views.view import View
from dovetail.model.reason import Explanation, FunnelStep, NodePoints, Outcome
from dovetail.model.requests.shape import Shape
from dovetail.model.requests.task_identity import TaskIdentity
from dovetail.model.task import TaskId
from dovetail.placement.contract import Request
from dovetail.placement.pipeline.evaluation import LOST, Evaluator, FilterResult
from dovetail.placement.pipeline.profiles import ProfileSettings
from dovetail.placement.pipeline.ranking_cache import SPARSE, RankingCache
from dovetail.placement.pipeline.refusal import unplaced

KEEP_BEST = 5
CACHE_BYTES = 64 * 2**20
MAX_RANKING_CACHES = 256
#: As many as there may be caches: a shape that comes again later than that would find its cache gone again.
REMEMBERED_SHAPES = MAX_RANKING_CACHES
FUNNELS_KEPT = 4096
#: Why nodes were not considered: others of its gang or group go elsewhere.
OTHER_DOMAIN = "other_domain"
#: Or the task is nominated to another node, and may go there.
MEANT_ELSEWHERE = "meant_elsewhere"
#: The first step of the funnel where only one node is considered: somebody expects the task there, or the search for
#: its whole application found it.
EXPECTED, WITH_APPLICATION = ("meant", MEANT_ELSEWHERE), ("application", "farther_for_its_traffic")


@dataclass(slots=True)
class Choice:
    """The answer for one task: a row, or None and the explanation says why."""

    row: int | None
    explanation: Explanation
    slots: Slots | None = None  # the GPUs it should get there; None: whichever the device table says


class _Refused(NamedTuple):
    shape: Shape
    identity: TaskIdentity | None
    epoch: int
    changes: int
    filtered: FilterResult


class Pipeline:
    def __init__(self, name: str, settings: ProfileSettings, cluster: Cluster, seed: int = 0) -> None:
        self.name = name
        self.settings = settings
        self.evaluator = Evaluator(name, settings)
        self.cursor = -1  # the row that round_robin chose last
        self._cluster = cluster
        self._seed = seed
        self._ranking_caches: OrderedDict[Shape, RankingCache] = OrderedDict()
        self._most_caches = MAX_RANKING_CACHES  # fewer in a large cluster
        self._remembered: OrderedDict[Shape, None] = OrderedDict()  # shapes that came once, of late
        self._weights = tuple(zip(settings.scores, self.evaluator.weights, strict=True))
        self._refused: _Refused | None = None  # the last that fitted nowhere
        self._filters = [plugin.name for plugin in self.evaluator.filters]
        self._reasons = [plugin.reason for plugin in self.evaluator.filters]
        self._funnels: dict[tuple[int, ...], tuple[FunnelStep, ...]] = {}

    def decide(self, request: Request, task: TaskId | str, *, repeats: bool = False) -> Choice:
        """The best node for one task. `repeats` says that more tasks of this shape will follow."""
        plain = request.promised is None and request.too_dear is None
        cache = self._ranking_cache(request, repeats) if plain else None
        if cache is not None:
            return self._from_ranking_cache(request, cache, task)
        return self._evaluated_once(request, task)

    def decide_at(self, request: Request, row: int, because: tuple[str, str] = EXPECTED) -> Choice | None:
        """Choose this node, if it may take the task; no other node is considered. `because`: the first funnel step and
        its reason."""
        view = View(self._cluster).subset(np.array([row], dtype=np.intp))
        filtered = self.evaluator.run_filters(request, view)
        if not filtered.counts[-1]:
            return None
        scored = self.evaluator.score(request, view)
        best = self._best(scored.total, view.rows, scored.points, None)
        funnel = (FunnelStep(because[0], 1, because[1]), *self._funnel(filtered.counts))
        slots = self.evaluator.devices(request, self._cluster, row)
        return Choice(row, self._explained(best[0].node, funnel, best, filtered.notes + scored.notes), slots)

    def feasible_ignoring_capacity(self, request: Request) -> B1:
        """bool[node]: nodes that are feasible if capacity is ignored. The caller's request was usually refused just
        before, so that evaluation is reused."""
        kept, cluster = self._refused, self._cluster
        if kept is not None and request.among is None:
            asked = request.shape, request.identity, cluster.epoch, cluster.changes
            if asked == kept[:-1] and kept.filtered.alive.shape == (cluster.width,):
                return kept.filtered.feasible_ignoring_capacity
        return self.evaluator.run_filters(request, View(cluster)).feasible_ignoring_capacity

    def funnel_and_weights(
        self, filtered: FilterResult, request: Request
    ) -> tuple[tuple[FunnelStep, ...], tuple[tuple[str, float], ...]]:
        """The funnel and the weights of the scores, for an explanation."""
        funnel = self._funnel(filtered.counts)
        if request.among is not None:
            funnel = (self._looked_at(request.among), *funnel)
        return funnel, self._weights

    def _looked_at(self, among: B1) -> FunnelStep:
        """A funnel step of its own where only some nodes are considered: the domain of the gang or group."""
        looked_at = np.count_nonzero(among & View(self._cluster).present)
        return FunnelStep("domain", int(looked_at), OTHER_DOMAIN)

    def for_task(self, request: Request, workload: int, replicas: int) -> Request:
        """The request with what this profile's scores need: the task's workload, where a score is not local."""
        return request if self.evaluator.local else replace(request, siblings=(workload, replicas))

    def placed(self, request: Request, row: int) -> None:
        """Call after the chosen row took the task, also in a trial."""
        self.cursor = row
        cache = self._ranking_caches.get(request.shape)
        if cache is not None:
            cache.took(row)

    def forget_wider(self, resources: int) -> None:
        """Drop ranking caches of shapes that were compiled against more resources than these."""
        wider = [shape for shape, cache in self._ranking_caches.items() if len(cache.request.column) > resources]
        for shape in wider:
            del self._ranking_caches[shape]

    # --- two ways to the same answer -------------------------------------------------------------------------

    def _from_ranking_cache(self, request: Request, cache: RankingCache, task: TaskId | str) -> Choice:
        cache.refresh()
        as_of = self._cluster.epoch, self._cluster.changes
        if cache.refusal is not None and cache.refusal[0] == as_of:  # many ask for the same when nothing is free
            return Choice(None, cache.refusal[1])
        funnel = self._funnel(cache.counts)
        top = cache.top(KEEP_BEST)
        if not top:
            choice = self._unplaced(request, funnel, cache.filtered)
            cache.refusal = as_of, choice.explanation
            return choice
        if self.settings.select == "best":
            row = top[0]
        else:
            row = self._selected(np.flatnonzero(cache.total > LOST), task)
            top = [row, *(other for other in top if other != row)][:KEEP_BEST]
        best = cache.lines(top)
        slots = self.evaluator.devices(request, self._cluster, row)
        return Choice(row, self._explained(best[0].node, funnel, best, cache.notes), slots)

    def _evaluated_once(self, request: Request, task: TaskId | str) -> Choice:
        view = View(self._cluster)
        filtered = self.evaluator.run_filters(request, view)
        funnel = self._funnel(filtered.counts)
        if request.among is not None:
            funnel = (self._looked_at(request.among), *funnel)
        feasible = filtered.counts[-1]
        if not feasible:
            if request.among is None and request.too_dear is None:
                cluster = self._cluster
                self._refused = _Refused(request.shape, request.identity, cluster.epoch, cluster.changes, filtered)
            return self._unplaced(request, funnel, filtered)
        rows: Rows | None = None
        if feasible < SPARSE * view.size:
            rows = filtered.rows
            scored = self.evaluator.score(request, view.subset(rows))
        else:
            scored = self.evaluator.score(request, view)
            np.putmask(scored.total, ~filtered.alive, LOST)
        notes = filtered.notes + scored.notes
        chosen = None
        if self.settings.select != "best":
            chosen = self._selected(np.flatnonzero(filtered.alive), task)
        best = self._best(scored.total, rows, scored.points, chosen)
        row = self._cluster.rows[best[0].node]
        slots = self.evaluator.devices(request, self._cluster, row)
        return Choice(row, self._explained(best[0].node, funnel, best, notes), slots)

    def _best(
        self, total: F8, rows: Rows | None, points: list[F8 | float], chosen: int | None
    ) -> tuple[NodePoints, ...]:
        """The top candidates, best first, the chosen one ahead of all. Overwrites `total` as it goes: a handful of
        argmax passes is several times cheaper than partially sorting it."""
        names, load = self._cluster.names, self._cluster.resources.load
        found: list[NodePoints] = []
        at = total.argmax() if chosen is None else chosen if rows is None else np.searchsorted(rows, chosen)
        while (value := total.item(at)) != LOST:
            row = at if rows is None else rows[at]
            each = tuple([p if isinstance(p, float) else p.item(at) for p in points])
            found.append(NodePoints(names[row], value, each, load.item(row)))
            if len(found) == KEEP_BEST:
                break
            total[at] = LOST
            at = total.argmax()
        return tuple(found)

    # --- pieces ----------------------------------------------------------------------------------------------

    def _selected(self, rows: Rows, task: TaskId | str) -> int:
        if self.settings.select == "round_robin":
            after = int(np.searchsorted(rows, self.cursor, side="right"))
            return int(rows[after % len(rows)])
        digest = blake2b(f"{self._seed}/{task}".encode(), digest_size=8).digest()
        return int(rows[int.from_bytes(digest, "big") % len(rows)])

    def _ranking_cache(self, request: Request, repeats: bool) -> RankingCache | None:
        if request.non_local or request.among is not None or not self.evaluator.local:
            return None  # it depends on other workloads or nodes: nothing can be cached
        shape = request.shape
        found = self._ranking_caches.get(shape)
        if found is not None:
            self._ranking_caches.move_to_end(shape)
            return found
        if not repeats and shape not in self._remembered:
            self._remembered[shape] = None
            while len(self._remembered) > min(REMEMBERED_SHAPES, self._most_caches):
                self._remembered.popitem(last=False)
            return None
        found = RankingCache(request, self.evaluator, self._cluster)
        self._ranking_caches[shape] = found
        # All caches of one cluster are about as large as the newest.
        self._most_caches = min(MAX_RANKING_CACHES, max(1, CACHE_BYTES // found.size_bytes))
        while len(self._ranking_caches) > self._most_caches:
            self._ranking_caches.popitem(last=False)
        return found

    def _funnel(self, counts: list[int]) -> tuple[FunnelStep, ...]:
        """Cached: tasks ask for few kinds of nodes again and again, and often the last filters refuse none of these."""
        key = tuple(counts)
        found = self._funnels.get(key)
        if found is None:
            if len(self._funnels) >= FUNNELS_KEPT:
                self._funnels.clear()
            found = self._funnels[key] = tuple(map(FunnelStep, self._filters, counts, self._reasons))
        return found

    def _unplaced(self, request: Request, funnel: tuple[FunnelStep, ...], filtered: FilterResult) -> Choice:
        return Choice(None, unplaced(self.name, request, self.evaluator, self._cluster, funnel, filtered))

    def _explained(
        self, node: str, funnel: tuple[FunnelStep, ...], best: tuple[NodePoints, ...], notes: tuple[str, ...]
    ) -> Explanation:
        return Explanation(
            outcome=Outcome.PLACED,
            message=f"placed on {node}",
            profile=self.name,
            nodes=len(self._cluster.rows),
            funnel=funnel,
            weights=self._weights,
            best=best,
            notes=notes,
        )
