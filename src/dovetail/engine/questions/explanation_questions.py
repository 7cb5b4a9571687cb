"""Why one more task of a shape is placed where it is, or nowhere: the answers of the filters and scores themselves."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dovetail.cluster.views.view import View
from dovetail.constraints.programs.program import NodeProgram, why_not
from dovetail.engine.gangs.gang_trial import layout_of, try_together
from dovetail.engine.gangs.one_by_one import TrialSubject
from dovetail.engine.gangs.requests import request_of
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.reason import Explanation, Refused
from dovetail.model.requests.shape import Shape
from dovetail.placement.contract import Request
from dovetail.placement.pipeline.refusal import refusals, refused_at


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


class ExpressionCheck(NamedTuple):
    """How many nodes satisfy an expression now; `failing`: some that do not, each with the reason."""

    satisfying: int
    nodes: int
    failing: list[tuple[str, str]]


class RefusedNodes(NamedTuple):
    """Some of the nodes that a filter refuses, and how many it refuses in all."""

    nodes: list[tuple[str, Refused]]
    total: int


class ExplanationQuestions:
    """For a live workload, named by its id, capacity that is promised to others counts as taken."""

    def __init__(self, state: EngineState) -> None:
        self._state = state

    def explain(self, shape: Shape, workload: int = -1, now: float = 0.0) -> Explanation:
        with self._state.no_trace():
            pipeline, request = self._state.pipelines[shape.profile], self._request(shape, workload, now)
            return self._gang_refusal(request, workload) or pipeline.decide(request, "explain").explanation

    def _gang_refusal(self, request: Request, workload: int) -> Explanation | None:
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
        """Raises KeyError for an unknown node."""
        cluster = self._state.cluster
        row = cluster.rows[node]
        with self._state.no_trace():
            pipeline, request = self._state.pipelines[shape.profile], self._request(shape, workload, now)
            against = refusals(request, pipeline.evaluator, cluster, row)
            choice = pipeline.decide(request, "why-not")
            view = View(cluster)  # after the request, which may add resources to the tables
            alive = pipeline.evaluator.run_filters(request, view).alive
            rank, together = None, ""
            if not against:
                total = pipeline.evaluator.score(request, view).total
                better = alive & ((total > total[row]) | ((total == total[row]) & (np.arange(view.size) < row)))
                rank = int(np.count_nonzero(better)) + 1
                refused = self._gang_refusal(request, workload)
                together = "" if refused is None else refused.message
        best = None if choice.row is None else cluster.names[choice.row]
        return WhyNot(node, against, rank, int(np.count_nonzero(alive)), best, choice.explanation, together)

    def refused_at(
        self, shape: Shape, step: str, workload: int, now: float, limit: int, offset: int = 0
    ) -> RefusedNodes:
        """Which nodes one filter of the funnel refuses, and why each."""
        with self._state.no_trace():
            pipeline, request = self._state.pipelines[shape.profile], self._request(shape, workload, now)
            view = View(self._state.cluster)  # after the request, as above
            return RefusedNodes(*refused_at(request, pipeline.evaluator, view, step, limit, offset))

    def points_of(self, shape: Shape, node: str) -> tuple[float, dict[str, float]]:
        """Total and points per score of one node, feasible or not."""
        with self._state.no_trace():
            pipeline, request = self._state.pipelines[shape.profile], self._state.request(shape)
            view = View(self._state.cluster).subset(np.array([self._state.cluster.rows[node]], dtype=np.intp))
            scored = pipeline.evaluator.score(request, view)
        points = [p if isinstance(p, float) else float(p[0]) for p in scored.points]
        return float(scored.total[0]), dict(zip(pipeline.settings.scores, points, strict=True))

    def check_expression(self, program: NodeProgram, namespace: str, most_failing: int) -> ExpressionCheck:
        view = View(self._state.cluster)
        mask = np.broadcast_to(program.holds(view, namespace), view.size) & view.present
        rows = np.flatnonzero(view.present & ~mask)[:most_failing].tolist()
        failing = [(view.name(row), why_not(program, view, namespace, row)) for row in rows]
        return ExpressionCheck(int(mask.sum()), int(view.present.sum()), failing)

    def plugin_failures(self) -> list[tuple[str, str, int]]:
        """(profile, plugin, failed calls)."""
        return [
            (profile, plugin, count)
            for profile, pipeline in self._state.pipelines.items()
            for plugin, count in pipeline.evaluator.failures.items()
        ]
