"""Read-only questions: plan, why-not, explain, capacity, suggestions, forecasts, nodes in numbers.

The pipeline that decides answers them, on the same state, in trials that undo themselves.
Guarantees: a question leaves no trace. Which questions are asked, and when, changes no later command and no persisted
byte (`EngineState.no_trace`). Long questions come in pieces (`*_pieces`, see `pieces`): whoever runs them compares
`version` before each piece. Their answers are kept while nothing changes (`AnswerCache`).
Left to others: words for people (`api.answers`), time (`control.question_desk`).
"""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import NamedTuple, TypeVar

import numpy as np

from dovetail.cluster.views.view import View
from dovetail.constraints.program import NodeProgram
from dovetail.engine.engine import Engine
from dovetail.engine.gangs.communication import estimate_for
from dovetail.engine.gangs.gang_trial import layout_of, try_together
from dovetail.engine.gangs.headroom import Headroom
from dovetail.engine.gangs.one_by_one import TrialSubject
from dovetail.engine.gangs.requests import request_of
from dovetail.engine.pieces import IsSpent, Pieces, in_one, never, whole, without_trace
from dovetail.engine.planning.group_plan import plan_group
from dovetail.engine.planning.plan import Displacement, PlannedTask, nodes_in_turn, plan, would_displace
from dovetail.engine.policies.violations import PolicyViolation
from dovetail.engine.questions.answer_cache import NOT_KEPT, AnswerCache
from dovetail.engine.questions.defragmentation import RecoverableCapacity, winnable
from dovetail.engine.questions.expression_check import ExpressionCheck, check_expression
from dovetail.engine.questions.fragmentation import FragmentReport, fragment_report
from dovetail.engine.questions.network_directory import Apart, DomainUse, LevelState, NetworkDirectory
from dovetail.engine.questions.node_directory import NodeDirectory
from dovetail.engine.questions.pending_report import PendingWorkload, pending_workloads, position_of, set_aside
from dovetail.engine.questions.pod_questions import PodQuestions
from dovetail.engine.questions.policy_directory import PolicyDirectory
from dovetail.engine.questions.queue_report import QueueReport, queue_report
from dovetail.engine.questions.usage_gauges import UsageGauges
from dovetail.engine.questions.work_directory import HeldTask, WorkDirectory
from dovetail.engine.reservations.reservations import check as check_reservation
from dovetail.engine.scheduling.forecast import StartGuess, guesses
from dovetail.engine.state.policies import AppliedPolicy
from dovetail.engine.suggestions.suggestions import Impasse, impasse
from dovetail.model.device import Device
from dovetail.model.node import Node
from dovetail.model.reason import Explanation, Refused
from dovetail.model.record import ReservationRecord
from dovetail.model.requests.shape import Shape
from dovetail.model.reservation import Reservation
from dovetail.model.resources import CORE_RESOURCES
from dovetail.model.workloads.workload import Workload
from dovetail.placement.contract import Request
from dovetail.placement.network_cost.communication import Estimate
from dovetail.placement.pipeline.refusal import refusals

__all__ = [
    "Apart",
    "AppliedPolicy",
    "DomainUse",
    "FreeCapacity",
    "GpuUse",
    "HeldTask",
    "LevelState",
    "NetworkDirectory",
    "NodeDirectory",
    "NodeUse",
    "PolicyDirectory",
    "PolicyViolation",
    "Questions",
    "StartGuess",
    "UsageGauges",
    "WhyNot",
    "WorkDirectory",
]

MOST_IN_TURN = 2000

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Every filter that refuses the node; or, if none does, how the node ranks."""

    node: str
    refusals: list[Refused]
    rank: int | None  # 1 is best
    feasible: int
    best_node: str | None
    explanation: Explanation
    together: str = ""  # why the gang fits nowhere as a whole, though one task would fit here


@dataclass(frozen=True, slots=True)
class FreeCapacity:
    """How many more of a shape fit, and where."""

    total: int
    by_node: list[tuple[str, int]]
    explanation: Explanation
    at_least: bool = False  # counting stopped here


class GpuUse(NamedTuple):
    """One GPU of a node, and the thousandths of it that tasks use."""

    slot: int
    device: Device
    used: int


@dataclass(frozen=True, slots=True)
class NodeUse:
    """One node in numbers: amounts by resource, and the number of its tasks."""

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
        self._answers = AnswerCache()
        # What the control plane asks by name or id all the time; each part may be handed on alone.
        self.known_nodes = NodeDirectory(engine.state)
        self.live_work = WorkDirectory(engine.state)
        self.policies = PolicyDirectory(engine.state)
        self.network = NetworkDirectory(engine.state)
        self.gauges = UsageGauges(engine.state)

    @property
    def version(self) -> Hashable:
        """Differs whenever an answer might."""
        cluster = self._state.cluster
        return self._engine.version, cluster.changes, cluster.generation, cluster.epoch

    def _kept(self, question: Hashable, now: float, pieces: Callable[[], Pieces[T]]) -> Pieces[T]:
        """The answer that is kept, or a new one."""
        version = self.version
        found = self._answers.get(version, question, now)
        if found is NOT_KEPT:
            found = yield from without_trace(self._state, pieces())
            self._answers.keep(version, question, now, found)
        answer: T = found
        return answer

    def shape(self, spec: Workload) -> Shape:
        """Raises what routing raises: unknown scheduler or profile."""
        return self._state.terms(spec).shape

    def plan(self, spec: Workload, most: int = 1000, now: float = 0.0) -> list[PlannedTask]:
        """Where the tasks would go now, one after the other, without doing it."""
        return whole(self.plan_pieces(spec, most, now))

    def plan_pieces(
        self, spec: Workload, most: int, now: float, is_spent: IsSpent = never
    ) -> Pieces[list[PlannedTask]]:
        question = ("plan", spec.model_dump_json(), most)
        return self._kept(question, now, lambda: plan(self._state, spec, most, now, is_spent))

    def plan_group(self, specs: list[Workload], most: int = 1000, now: float = 0.0) -> list[list[PlannedTask]]:
        """The same for workloads that start together."""
        return whole(self.plan_group_pieces(specs, most, now))

    def plan_group_pieces(self, specs: list[Workload], most: int, now: float) -> Pieces[list[list[PlannedTask]]]:
        question = ("plan_group", *(spec.model_dump_json() for spec in specs), most)
        return self._kept(question, now, lambda: in_one(lambda: plan_group(self._state, specs, most, now)))

    def communication(self, tasks: Sequence[PlannedTask]) -> Estimate | None:
        """How long planned tasks would take to exchange data; None if all are on one node, or if the network is not
        described."""
        rows = self._state.cluster.rows
        return estimate_for(self._state, [rows[task.node] for task in tasks if task.node is not None])

    def would_displace(self, spec: Workload, now: float) -> Displacement | None:
        """Which tasks would be preempted for work that does not fit."""
        return whole(self.would_displace_pieces(spec, now))

    def would_displace_pieces(self, spec: Workload, now: float) -> Pieces[Displacement | None]:
        question = ("would_displace", spec.model_dump_json())
        return self._kept(question, now, lambda: would_displace(self._state, spec, now))

    def impasse(self, spec: Workload, workload: int = -1, now: float = 0.0) -> Impasse:
        """What keeps a workload from being placed whole, and what would help. For a live workload this is about its
        waiting tasks."""
        return whole(self.impasse_pieces(spec, workload, now))

    def impasse_pieces(self, spec: Workload, workload: int, now: float) -> Pieces[Impasse]:
        question = ("impasse", spec.model_dump_json(), workload)
        return self._kept(question, now, lambda: impasse(self._state, spec, self._state.work.get(workload), now))

    def explain(self, shape: Shape, workload: int = -1, now: float = 0.0) -> Explanation:
        """What the pipeline says about one more task of this shape. For a live workload promises to others count."""
        with self._state.no_trace():
            pipeline, request = self._state.pipelines[shape.profile], self._request(shape, workload, now)
            return self._apart(request, workload) or pipeline.decide(request, "explain").explanation

    def _apart(self, request: Request, workload: int) -> Explanation | None:
        """Why a gang with a layout cannot start, where one task could."""
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
        with self._state.no_trace():
            return self._why_not(shape, node, workload, now)

    def _why_not(self, shape: Shape, node: str, workload: int, now: float) -> WhyNot:
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
        with self._state.no_trace():
            pipeline, request = self._state.pipelines[shape.profile], self._state.request(shape)
            view = View(self._state.cluster).subset(np.array([self._state.cluster.rows[node]], dtype=np.intp))
            scored = pipeline.evaluator.score(request, view)
        points = [p if isinstance(p, float) else float(p[0]) for p in scored.points]
        return float(scored.total[0]), dict(zip(pipeline.settings.scores, points, strict=True))

    def capacity(self, spec: Workload, most_nodes: int = 100) -> FreeCapacity:
        """How many more tasks of this shape fit: on each node as many as its scarcest requested resource allows. Where
        one task matters to the next, as many as find a node one after the other."""
        return whole(self.capacity_pieces(spec, most_nodes))

    def capacity_pieces(self, spec: Workload, most_nodes: int = 100, is_spent: IsSpent = never) -> Pieces[FreeCapacity]:
        question = ("capacity", spec.model_dump_json(), most_nodes)
        return self._kept(question, 0.0, lambda: self._capacity(spec, most_nodes, is_spent))

    def _capacity(self, spec: Workload, most_nodes: int, is_spent: IsSpent) -> Pieces[FreeCapacity]:
        shape = self.shape(spec)
        pipeline, request = self._state.pipelines[shape.profile], self._state.request(shape)
        view = View(self._state.cluster)
        headroom = Headroom(pipeline.evaluator, request, view)
        if not headroom.is_exact:
            nodes = Counter((yield from nodes_in_turn(self._state, spec, shape, MOST_IN_TURN, is_spent)))
            total = nodes.total()
            return FreeCapacity(
                total, nodes.most_common(most_nodes), self.explain(shape), at_least=total == MOST_IN_TURN
            )
        filtered = pipeline.evaluator.run_filters(request, view)
        rows = np.flatnonzero(filtered.alive)
        fits = headroom.copies(rows, request.needs)
        order = np.argsort(-fits, kind="stable")[:most_nodes]
        by_node = [(self._state.cluster.names[int(rows[i])], int(fits[i])) for i in order]
        return FreeCapacity(int(fits.sum()) if len(rows) else 0, by_node, self.explain(shape))

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
        """When waiting workloads will probably start, by id; those without a forecast are left out."""
        return whole(self.starts_pieces(now))

    def starts_pieces(self, now: float) -> Pieces[dict[int, StartGuess]]:
        return self._kept("starts", now, lambda: guesses(self._state, now))

    def queue(self, limit: int = 1000) -> list[int]:
        """Waiting workloads in scheduling order: first the pending queues, then parked work."""
        return list(islice(self._state.pending.ids(), limit))

    # --- for the control plane -------------------------------------------------------------------------------

    def reservation(self, id_: int) -> ReservationRecord | None:
        return self._state.reservations.get(id_)

    def check_reservation(self, id_: int, wanted: Reservation, now: float) -> tuple[ReservationRecord, str]:
        """The reservation as it would be made now, and why it cannot be; empty when it can."""
        return check_reservation(self._state, id_, wanted, now)

    # --- for the routes of the API ---------------------------------------------------------------------------

    def node_names(self) -> list[str]:
        return sorted(self._state.cluster.rows)

    def has_node(self, name: str) -> bool:
        return name in self._state.cluster.rows

    def node_definition(self, name: str) -> Node:
        """The node as it was registered and changed since. Raises KeyError for an unknown node."""
        return self._state.cluster.node(name)

    def live_shape(self, workload: int) -> Shape | None:
        """The shape under which an unfinished workload is placed; None for any other."""
        work = self._state.work.get(workload)
        return None if work is None else work.shape

    def start(self, workload: int, now: float) -> StartGuess | None:
        """When a workload will probably start; None if it does not wait, or the start cannot be predicted."""
        return whole(self.start_pieces(workload, now))

    def start_pieces(self, workload: int, now: float) -> Pieces[StartGuess | None]:
        work = self._state.work.get(workload)
        if work is None or not (work.waiting or work.after):
            return None
        found = yield from self.starts_pieces(now)
        return found.get(workload)

    def position(self, workload: int) -> int | None:
        return position_of(self._state, workload)

    def set_aside(self, workload: int) -> str:
        return set_aside(self._state, workload)

    def pending_workloads(self, limit: int = 1000) -> list[PendingWorkload]:
        return pending_workloads(self._state, limit)

    def queue_report(self) -> QueueReport:
        return queue_report(self._state, {resource: capacity for resource, (_, capacity) in self.totals().items()})

    def queue_path(self, spec: Workload) -> str:
        """The queue that a workload would wait in."""
        router = self._state.router
        return router.queues[router.queue(spec.queue, spec.namespace)].path

    def reservations(self) -> list[ReservationRecord]:
        return list(self._state.reservations.values())

    def fragmentation(self) -> FragmentReport:
        return fragment_report(self._state)

    def winnable(self) -> RecoverableCapacity:
        """What moving tasks would recover of the free GPU capacity that typical work cannot use."""
        return winnable(self._state)

    def check_expression(self, program: NodeProgram, namespace: str, most_failing: int) -> ExpressionCheck:
        return check_expression(self._state, program, namespace, most_failing)

    # --- for adapters of Kubernetes ---------------------------------------------------------------------------

    @cached_property
    def pods(self) -> PodQuestions:
        """About pods, which the engine need not know."""
        return PodQuestions(self._state)
