"""Questions that change nothing: plan, why-not, explain, capacity, diagnostics.

All are answered by the same pipeline that decides, on the same state, in trials that undo themselves.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np

from dovetail.cluster.views.view import View
from dovetail.engine.engine import Engine
from dovetail.engine.gangs.communication import estimate_for
from dovetail.engine.gangs.gang_trial import layout_of, try_together
from dovetail.engine.gangs.headroom import Headroom
from dovetail.engine.gangs.one_by_one import TrialSubject
from dovetail.engine.planning.group_plan import plan_group
from dovetail.engine.planning.plan import Displacement, PlannedTask, nodes_in_turn, plan, would_displace
from dovetail.engine.pod_questions import PodQuestions
from dovetail.engine.scheduling.forecast import StartGuess, guesses
from dovetail.engine.scheduling.requests import request_of
from dovetail.engine.scheduling.watches import reads_amounts
from dovetail.engine.suggestions.suggestions import Impasse, impasse
from dovetail.model.device import Device
from dovetail.model.reason import Explanation, Refused
from dovetail.model.requests.shape import Shape
from dovetail.model.resources import CORE_RESOURCES
from dovetail.model.workloads.workload import Workload
from dovetail.placement.contract import Request
from dovetail.placement.network_cost.communication import Estimate
from dovetail.placement.pipeline.refusal import refusals

KEPT_S = 5.0
MOST_IN_TURN = 2000


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Every filter's word against the node, or, if it may take the task, how it ranks against the best."""

    node: str
    refusals: list[Refused]
    rank: int | None  # 1 is best
    feasible: int
    best_node: str | None
    explanation: Explanation
    together: str = ""  # why its tasks, which must lie together, fit nowhere as a whole


@dataclass(frozen=True, slots=True)
class FreeCapacity:
    """How many more of a shape fit, and where."""

    total: int
    by_node: list[tuple[str, int]]
    explanation: Explanation
    at_least: bool = False  # nobody counted further


class GpuUse(NamedTuple):
    """One GPU of a node, and how many thousandths of it tasks have."""

    slot: int
    device: Device
    used: int


@dataclass(frozen=True, slots=True)
class NodeUse:
    """One node in numbers: amounts by resource, and what runs there."""

    name: str
    backend: str
    online: bool
    cordoned: bool
    drained: bool
    quarantined: bool
    available: bool
    reason: str
    labels: dict[str, str]
    taints: list[str]
    capacity: dict[str, int]
    allocated: dict[str, int]
    reserved: dict[str, int]
    observed: dict[str, int]
    load: float
    tasks: int

    @property
    def status(self) -> str:
        """One word for people."""
        if not self.online:
            return "offline"
        if not self.available:
            return "backend down"
        if self.drained:
            return "drained" if not self.tasks else "draining"
        if self.cordoned:
            return "cordoned"
        return "quarantined" if self.quarantined else "online"


class Questions:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._state = engine.state
        self._guesses: tuple[float, int, dict[int, StartGuess]] = (0.0, -1, {})

    def shape(self, spec: Workload) -> Shape:
        """Raises what routing raises: unknown scheduler or profile."""
        return self._state.terms(spec).shape

    def plan(self, spec: Workload, most: int = 1000, now: float = 0.0) -> list[PlannedTask]:
        """Where the tasks would go now, one after the other, without doing it."""
        return plan(self._state, spec, most, now)

    def plan_group(self, specs: list[Workload], most: int = 1000, now: float = 0.0) -> list[list[PlannedTask]]:
        """The same for workloads that start together."""
        return plan_group(self._state, specs, most, now)

    def communication(self, tasks: Sequence[PlannedTask]) -> Estimate | None:
        """How long planned tasks would take to exchange data; None where all are on one node, or nobody says where
        nodes are in the network."""
        rows = self._state.cluster.rows
        return estimate_for(self._state, [rows[task.node] for task in tasks if task.node is not None])

    def would_displace(self, spec: Workload, now: float) -> Displacement | None:
        """Who would have to give way for work that does not fit."""
        return would_displace(self._state, spec, now)

    def impasse(self, spec: Workload, workload: int = -1, now: float = 0.0) -> Impasse:
        """What keeps a workload from being placed whole, and what would change that; of a live one, for what waits of
        it."""
        return impasse(self._state, spec, self._state.work.get(workload), now)

    def explain(self, shape: Shape, workload: int = -1, now: float = 0.0) -> Explanation:
        """What the pipeline says about one more task of this shape, now; of a live workload, with what others were
        promised."""
        pipeline, request = self._state.pipelines[shape.profile], self._request(shape, workload, now)
        return self._apart(request, workload) or pipeline.decide(request, "explain").explanation

    def _apart(self, request: Request, workload: int) -> Explanation | None:
        """Why a gang whose tasks must lie together cannot start, where one task could."""
        work = self._state.work.get(workload)
        if work is None or work.gang_short < 2 or len(work.waiting) < work.gang_short:
            return None
        if layout_of(self._state, TrialSubject(work.id, work.shape, work.identity)) is None:
            return None
        return try_together(self._state, work, request, sorted(work.waiting)[: work.gang_short]).refusal

    def _request(self, shape: Shape, workload: int, now: float) -> Request:
        work = self._state.work.get(workload)
        return self._state.request(shape) if work is None else request_of(self._state, work, now)

    def why_not(self, shape: Shape, node: str, workload: int = -1, now: float = 0.0) -> WhyNot:
        cluster = self._state.cluster
        row = cluster.rows[node]
        pipeline, request = self._state.pipelines[shape.profile], self._request(shape, workload, now)
        against = refusals(request, pipeline.evaluator, cluster, row)
        choice = pipeline.decide(request, "why-not")
        view = View(cluster)
        alive = pipeline.evaluator.run_filters(request, view).alive
        rank = None
        if not against:
            total = pipeline.evaluator.score(request, view).total
            better = alive & ((total > total[row]) | ((total == total[row]) & (np.arange(view.size) < row)))
            rank = int(np.count_nonzero(better)) + 1
        best = None if choice.row is None else cluster.names[choice.row]
        apart = None if against else self._apart(request, workload)
        together = "" if apart is None else apart.message
        return WhyNot(node, against, rank, int(np.count_nonzero(alive)), best, choice.explanation, together)

    def points_of(self, shape: Shape, node: str) -> tuple[float, dict[str, float]]:
        """Total and points per score of one node, feasible or not."""
        pipeline, request = self._state.pipelines[shape.profile], self._state.request(shape)
        view = View(self._state.cluster).subset(np.array([self._state.cluster.rows[node]], dtype=np.intp))
        scored = pipeline.evaluator.score(request, view)
        points = [p if isinstance(p, float) else float(p[0]) for p in scored.points]
        return float(scored.total[0]), dict(zip(pipeline.settings.scores, points, strict=True))

    def capacity(self, spec: Workload, most_nodes: int = 100) -> FreeCapacity:
        """How many more tasks of this shape fit: on each node as many as its scarcest requested resource allows; where
        one matters to the next, as many as find a node one after the other."""
        shape = self.shape(spec)
        pipeline, request = self._state.pipelines[shape.profile], self._state.request(shape)
        if request.non_local or reads_amounts(shape):
            return self._room_in_turn(spec, shape, most_nodes)
        view = View(self._state.cluster)
        filtered = pipeline.evaluator.run_filters(request, view)
        rows = np.flatnonzero(filtered.alive)
        fits = Headroom(pipeline.evaluator, request, view).copies(rows, request.needs)
        order = np.argsort(-fits, kind="stable")[:most_nodes]
        by_node = [(self._state.cluster.names[int(rows[i])], int(fits[i])) for i in order]
        return FreeCapacity(int(fits.sum()) if len(rows) else 0, by_node, self.explain(shape))

    def _room_in_turn(self, spec: Workload, shape: Shape, most_nodes: int) -> FreeCapacity:
        nodes = Counter(nodes_in_turn(self._state, spec, shape, MOST_IN_TURN))
        total = nodes.total()
        return FreeCapacity(total, nodes.most_common(most_nodes), self.explain(shape), at_least=total == MOST_IN_TURN)

    def node(self, name: str) -> NodeUse:
        """Raises KeyError for an unknown node."""
        cluster = self._state.cluster
        row = cluster.rows[name]
        tables = cluster.resources
        return NodeUse(
            name=name,
            backend=cluster.backend_names[cluster.backends[row]],
            online=bool(cluster.online[row]),
            cordoned=bool(cluster.cordoned[row]),
            drained=name in cluster.drained,
            quarantined=name in cluster.quarantines,
            available=cluster.backend_available[cluster.backends[row]],
            reason=cluster.reason(name),
            labels=cluster.labels.row(row),
            taints=[str(taint) for taint in cluster.taints.row(row)],
            capacity=tables.amounts(tables.capacity[:, row]),
            allocated=tables.amounts(tables.allocated[:, row]),
            reserved=tables.amounts(tables.reserved[:, row]),
            observed=tables.amounts(tables.observed[:, row]),
            load=float(tables.load[row]),
            tasks=len(cluster.placements.by_row[row]),
        )

    def gpus(self, name: str) -> list[GpuUse]:
        """The GPUs of a node by slot. Raises KeyError for an unknown node."""
        devices, row = self._state.cluster.devices, self._state.cluster.rows[name]
        taken = devices.taken(row).tolist()
        return [GpuUse(slot, device, taken[slot]) for slot, device in enumerate(devices.devices(row))]

    def in_use(self, name: str, resources: Sequence[str]) -> list[tuple[str, float, float]] | None:
        """(resource, allocated, capacity) of one node, or None if it is gone."""
        cluster = self._state.cluster
        row = cluster.rows.get(name)
        if row is None:
            return None
        tables = cluster.resources
        at = [tables.index[resource] for resource in resources]
        return list(zip(resources, tables.allocated[at, row].tolist(), tables.capacity[at, row].tolist(), strict=True))

    def nodes(self) -> list[NodeUse]:
        return [self.node(name) for name in sorted(self._state.cluster.rows)]

    def totals(self) -> dict[str, tuple[int, int]]:
        """By resource: allocated and capacity over all online nodes."""
        cluster = self._state.cluster
        tables, n = cluster.resources, cluster.width
        online = cluster.online[:n]
        return {
            name: (int(tables.allocated[i, :n][online].sum()), int(tables.capacity[i, :n][online].sum()))
            for i, name in enumerate(tables.names)
            if name in CORE_RESOURCES or tables.capacity[i, :n].any()
        }

    @property
    def waiting(self) -> int:
        """Workloads with tasks that wait for a node."""
        return len(self._state.pending)

    def status_counts(self) -> dict[str, int]:
        """Nodes by status, over the flags alone: cheap at any size."""
        cluster = self._state.cluster
        n = cluster.width
        online, cordoned, ready = cluster.online[:n], cluster.cordoned[:n], cluster.ready[:n]
        rows = [cluster.rows[name] for name in cluster.quarantines]
        quarantined = sum(bool(online[row]) and not cordoned[row] for row in rows)
        return {
            "online": int(ready.sum()),
            "cordoned": int((online & cordoned).sum()),
            "quarantined": quarantined,
            "backend down": int((online & ~cordoned & ~ready).sum()) - quarantined,
            "offline": len(cluster.rows) - int(online.sum()),
        }

    def plugin_failures(self) -> list[tuple[str, str, int]]:
        """(profile, plugin, failed calls)."""
        return [
            (profile, plugin, count)
            for profile, pipeline in self._state.pipelines.items()
            for plugin, count in pipeline.evaluator.failures.items()
        ]

    def starts(self, now: float) -> dict[int, StartGuess]:
        """When waiting workloads will probably start, by id; those of which that can be told. Planning the queue takes
        a while on a large cluster, so an answer is kept for a moment while nothing changes."""
        stamp = self._state.cluster.changes
        at, seen, found = self._guesses
        if seen != stamp or not at <= now < at + KEPT_S:
            found = guesses(self._state, now)
            self._guesses = (now, stamp, found)
        return found

    def queue(self, limit: int = 1000) -> list[int]:
        """Waiting workloads in the order they would be looked at: queued ones, then those set aside."""
        return list(islice(self._state.pending.ids(), limit))

    # --- of an adapter of Kubernetes -------------------------------------------------------------------------

    @cached_property
    def pods(self) -> PodQuestions:
        """About pods, which the engine need not know."""
        return PodQuestions(self._state)
