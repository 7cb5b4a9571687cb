"""What would happen to work that is not placed: plans, preemptions, free capacity, expected starts, what would help.

The pipeline that decides answers, on the same state, in trials that undo themselves. Every question but the shortest
comes in pieces (see `pieces`): the caller compares `Questions.version` before each piece.
Guarantees: an answer is given again only for the same state of the engine and within `KEPT_S` seconds: how long victims
have run and when work will start also depend on the time.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, TypeVar

import numpy as np

from dovetail.cluster.views.view import View
from dovetail.engine.gangs.communication import estimate_for
from dovetail.engine.gangs.headroom import Headroom
from dovetail.engine.pieces import IsSpent, Pieces, in_one, never, without_trace
from dovetail.engine.planning.application_moves import ApplicationMove, application_moves
from dovetail.engine.planning.application_plan import plan_applications
from dovetail.engine.planning.group_plan import plan_group
from dovetail.engine.planning.market_plan import MarketCandidate, market_plan
from dovetail.engine.planning.plan import (
    Displacement,
    PlannedTask,
    Victim,
    nodes_in_turn,
    plan,
    victim_of,
    would_displace,
)
from dovetail.engine.preemption.asked_preemption import clearing_plan, tried_at_once
from dovetail.engine.questions.explanation_questions import ExplanationQuestions
from dovetail.engine.scheduling.forecast import StartForecast, StartGuess
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.suggestions.suggestions import CoreMember, Impasse, impasse, unsatisfied
from dovetail.model.reason import Explanation
from dovetail.model.requests.shape import Shape
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload
from dovetail.placement.network_cost.communication import Estimate

__all__ = [
    "ApplicationMove",
    "CoreMember",
    "Displacement",
    "FreeCapacity",
    "Impasse",
    "MarketCandidate",
    "PlanQuestions",
    "PlannedTask",
    "StartGuess",
    "Victim",
]

KEPT_S = 5.0
MOST_KEPT = 64
MOST_IN_TURN = 2000

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FreeCapacity:
    """How many more of a shape fit, and where."""

    total: int
    by_node: list[tuple[str, int]]
    explanation: Explanation
    at_least: bool = False  # counting stopped here


class PlanQuestions:
    def __init__(self, state: EngineState, explanations: ExplanationQuestions, version: Callable[[], Hashable]) -> None:
        self._state, self._explanations, self._version = state, explanations, version
        self._answers: OrderedDict[Hashable, tuple[float, Any]] = OrderedDict()
        self._answered: Hashable = None  # the version that they are about
        # Of the last state alone, with its time: it is large, and goes on where the last question stopped.
        self._forecast: tuple[Hashable, float, StartForecast | None] = (None, -inf, None)

    def _kept(self, question: Hashable, now: float, pieces: Callable[[], Pieces[T]]) -> Pieces[T]:
        """The answer that is kept, or a new one."""
        version = self._version()
        if version != self._answered:  # the plan of a thousand tasks is megabytes, and no use any more
            self._answers.clear()
            self._answered = version
        at, found = self._answers.get(question, (-inf, None))
        if not at <= now < at + KEPT_S:
            found = yield from without_trace(self._state, pieces())
            self._answers[question] = now, found
            self._answers.move_to_end(question)
            if len(self._answers) > MOST_KEPT:
                self._answers.popitem(last=False)
        answer: T = found
        return answer

    def shape(self, spec: Workload) -> Shape:
        """Raises what routing raises: unknown scheduler or profile."""
        return self._state.terms(spec).shape

    def plan(
        self, spec: Workload, most: int = 1000, now: float = 0.0, is_spent: IsSpent = never
    ) -> Pieces[list[PlannedTask]]:
        """Where the tasks would go now, one after the other."""
        question = ("plan", spec.model_dump_json(), most)
        return self._kept(question, now, lambda: plan(self._state, spec, most, now, is_spent))

    def market(self, spec: Workload, tasks: list[PlannedTask], now: float) -> Pieces[list[MarketCandidate]]:
        """The places that could run the first of these tasks, compared; none for work that does not compare them."""
        question = ("market", spec.model_dump_json(), tasks[0].node if tasks else None)
        return self._kept(question, now, lambda: in_one(lambda: market_plan(self._state, spec, tasks, now)))

    def plan_group(self, specs: list[Workload], most: int, now: float) -> Pieces[list[list[PlannedTask]]]:
        """The same for workloads that start together."""
        question = ("plan_group", *(spec.model_dump_json() for spec in specs), most)
        return self._kept(question, now, lambda: in_one(lambda: plan_group(self._state, specs, most, now)))

    def plan_applications(
        self, specs: list[Workload], most: int, now: float
    ) -> Pieces[dict[tuple[str, str], list[PlannedTask]]]:
        """The same for workloads that exchange traffic, by namespace and name; others are left out."""
        question = ("plan_applications", *(spec.model_dump_json() for spec in specs), most)
        return self._kept(question, now, lambda: plan_applications(self._state, specs, most, now))

    def application_moves(self, cost_per_move: float, now: float) -> Pieces[list[ApplicationMove]]:
        """Moves of running tasks that bring those that exchange traffic nearer to each other and save more than they
        cost, in an order in which they can be carried out. `cost_per_move`: in Mbps × distance."""
        question = ("application_moves", cost_per_move)
        return self._kept(question, now, lambda: application_moves(self._state, cost_per_move, now))

    def communication(self, tasks: Sequence[PlannedTask]) -> Estimate | None:
        """How long planned tasks would take to exchange data; None if all are on one node, or if the network is not
        described."""
        return self.communication_between([task.node for task in tasks if task.node is not None])

    def communication_between(self, nodes: Iterable[str]) -> Estimate | None:
        """The same for tasks on these nodes, one node for each task."""
        rows = self._state.cluster.rows
        return estimate_for(self._state, [rows[node] for node in nodes])

    def would_displace(self, spec: Workload, now: float) -> Pieces[Displacement | None]:
        """Which tasks would be preempted for work that does not fit."""
        question = ("would_displace", spec.model_dump_json())
        return self._kept(question, now, lambda: would_displace(self._state, spec, now))

    def preemption(self, workload: int, tasks: tuple[TaskId, ...], now: float) -> Pieces[Displacement | str]:
        """Whom it would disturb to stop these tasks for a workload that waits; or, in words, why that cannot be done
        or would not help."""
        return self._kept(
            ("preemption", workload, tasks), now, lambda: in_one(lambda: self._preemption(workload, tasks, now))
        )

    def _preemption(self, workload: int, tasks: tuple[TaskId, ...], now: float) -> Displacement | str:
        work = self._state.work.get(workload)
        if work is None:
            return "it has ended"
        found = clearing_plan(self._state, work, tasks, now)
        if isinstance(found, str):
            return found
        return Displacement(tried_at_once(work), tuple(victim_of(self._state, task, now) for task in found.tasks))

    def impasse(self, spec: Workload, workload: int = -1, now: float = 0.0) -> Pieces[Impasse]:
        """What keeps a workload from being placed completely, and what would help. For a live workload this is about
        its waiting tasks."""
        question = ("impasse", spec.model_dump_json(), workload)
        return self._kept(question, now, lambda: impasse(self._state, spec, self._state.work.get(workload), now))

    def core(self, spec: Workload, workload: int, now: float) -> Pieces[tuple[str, ...]]:
        """Which of its requirements no node meets together, in words. Raises what routing raises."""
        question = ("core", spec.model_dump_json(), workload)
        work = self._state.work.get(workload)
        return self._kept(question, now, lambda: in_one(lambda: unsatisfied(self._state, spec, work, now)))

    def capacity(self, spec: Workload, is_spent: IsSpent = never) -> Pieces[FreeCapacity]:
        """How many more tasks of this shape fit: on each node as many as its scarcest requested resource allows. Where
        one task matters to the next, as many as find a node one after the other."""
        question = ("capacity", spec.model_dump_json())
        return self._kept(question, 0.0, lambda: self._capacity(spec, is_spent))

    def _capacity(self, spec: Workload, is_spent: IsSpent) -> Pieces[FreeCapacity]:
        shape = self.shape(spec)
        pipeline, request = self._state.pipelines[shape.profile], self._state.request(shape)
        view = View(self._state.cluster)
        headroom = Headroom(pipeline.evaluator, request, view)
        if not headroom.is_exact:
            nodes = Counter((yield from nodes_in_turn(self._state, spec, shape, MOST_IN_TURN, is_spent)))
            total, explanation = nodes.total(), self._explanations.explain(shape)
            return FreeCapacity(total, nodes.most_common(), explanation, at_least=total == MOST_IN_TURN)
        rows = np.flatnonzero(pipeline.evaluator.run_filters(request, view).alive)
        fits = headroom.copies(rows, request.needs)
        order = np.argsort(-fits, kind="stable")
        by_node = [(self._state.cluster.names[int(rows[i])], int(fits[i])) for i in order if fits[i] >= 1]
        return FreeCapacity(int(fits.sum()) if len(rows) else 0, by_node, self._explanations.explain(shape))

    def starts(self, now: float, wanted: Iterable[int] | None = None) -> Pieces[dict[int, StartGuess]]:
        """When waiting workloads will probably start, by id; those without a forecast are left out. `wanted`: only of
        these, which costs less the earlier in the queue they are."""
        version, at, forecast = self._forecast
        if forecast is None or version != self._version() or not at <= now < at + KEPT_S:
            with self._state.no_trace():
                forecast = StartForecast(self._state, now)
            self._forecast = self._version(), now, forecast
        return (yield from without_trace(self._state, forecast.guesses(wanted)))

    def start(self, workload: int, now: float) -> Pieces[StartGuess | None]:
        """When a workload will probably start; None if it does not wait, or the start cannot be predicted."""
        work = self._state.work.get(workload)
        if work is None or not (work.waiting or work.after):
            return None
        found = yield from self.starts(now, [workload])
        return found.get(workload)
