"""The rebalancing subsystem: every `every`, look at the loads, and ask the engine for moves that pay.

A move is the engine's own (`MoveAsked`): capacity is held on both sides, and a target that cannot take the task any
more is left alone. Guarantees: one round at a time; a task that was moved rests for `settle`; nothing moves while it is
off.
"""

import asyncio
import contextlib
import time
from collections import deque
from dataclasses import replace
from functools import partial
from typing import Annotated

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge
from pydantic import Field

from dovetail.control.rebalancing.board import MOVES_KEPT, BalanceBoard, BalanceReport, DoneMove, LookRequest
from dovetail.control.subsystems.contract import DurableStep, Subsystem, SubsystemContext
from dovetail.engine.questions.questions import Questions
from dovetail.model.event import MoveAsked
from dovetail.model.task import TaskId, TaskState
from dovetail.model.text.quantity import Count, Duration
from dovetail.model.text.strict import Strict
from dovetail.rebalancing.spreading_load import (
    BalancePolicy,
    BalanceView,
    BalancingMove,
    BringNearer,
    nearer,
    propose,
)

log = structlog.get_logger()

Part = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class RebalancingSettings(Strict):
    enabled: bool = True
    """Whether tasks are moved. Only tasks of services with several replicas are: they start again elsewhere."""
    every: Annotated[Duration, Field(ge=1)] = 30.0
    """How often loads are looked at."""
    threshold: Part = 0.2
    """Nodes whose loads are less far apart are left alone. The load is the mean share of CPU, memory and slots."""
    move_cost: Part = 0.02
    """What a move has to gain at least, as a part of a node's capacity."""
    distance_cost: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)] = 0.3
    """What it costs to move a task from beside those it talks to as far away as possible."""
    traffic_cost: Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)] = 1000.0
    """What a move that brings services nearer to those they talk to has to save at least, in Mbps × distance: 100 Mbps
    over a distance of 10 are 1000."""
    settle: Duration = 600.0
    """A task that was moved stays for at least so long."""
    moves: Annotated[Count, Field(ge=1, le=100)] = 2
    """The most moves in one round."""

    def policy(self) -> BalancePolicy:
        return BalancePolicy(self.threshold, self.move_cost, self.distance_cost, self.settle, self.moves)


class BalanceMetrics:
    """The seeds' four figures."""

    def __init__(self, registry: CollectorRegistry) -> None:
        words = "Decisions about tasks: did they place one"
        self.decisions = Counter("dovetail_placement_decisions", words, ["placed"], registry=registry)
        self.moves = Counter("dovetail_rebalancing_moves", "Tasks that rebalancing moved", registry=registry)
        words = "Standard deviation of the load of nodes"
        self.deviation = Gauge("dovetail_node_load_deviation", words, registry=registry)
        words = "Mean distance between tasks that exchange traffic, 0 to 100"
        self.distance = Gauge("dovetail_traffic_distance", words, registry=registry)


class Rebalancer(Subsystem):
    def __init__(self, context: SubsystemContext) -> None:
        super().__init__(context)
        self._settings: RebalancingSettings = context.settings
        self._board: BalanceBoard = context.shared
        self._metrics: BalanceMetrics = context.metrics
        self._moved_at: dict[TaskId, float] = {}
        self._under_way: dict[TaskId, BalancingMove] = {}  # asked for; the engine may have thought better of it
        self._done: deque[DoneMove] = deque(maxlen=MOVES_KEPT)
        self._placed = self._decided = 0
        self._asked: asyncio.Queue[LookRequest] = asyncio.Queue()

    async def start(self) -> None:
        loop = asyncio.get_running_loop()

        def take(request: LookRequest) -> None:
            with contextlib.suppress(RuntimeError):  # this life has just ended
                loop.call_soon_threadsafe(self._asked.put_nowait, request)

        self._board.on_request(take)

    async def take(self, step: DurableStep) -> None:
        for decision in step.batch.changes.decisions:
            placed = decision.node is not None
            self._decided += 1
            self._placed += placed
            self._metrics.decisions.labels("yes" if placed else "no").inc()
        for record in step.batch.changes.tasks:
            move = self._under_way.get(record.task)
            if move is not None and record.state is TaskState.RUNNING and record.node == move.target:
                del self._under_way[record.task]
                self._done.append(DoneMove(time.time(), move))
                self._metrics.moves.inc()

    async def run(self) -> None:
        while True:
            request = LookRequest(self._settings.enabled)
            try:
                async with asyncio.timeout(self._settings.every):
                    request = await self._asked.get()
            except TimeoutError:
                pass
            await self.look(time.time(), move=request.move)
            if not request.seen.cancelled():
                request.seen.set_result(self._board.report)

    async def look(self, now: float, *, move: bool) -> None:
        """One round."""
        policy = self._settings.policy()
        self._moved_at = {task: at for task, at in self._moved_at.items() if now - at < policy.settle_s}
        self._under_way = {task: move for task, move in self._under_way.items() if task in self._moved_at}
        resting = frozenset(self._moved_at)
        work = self.context.control.work
        busy = frozenset() if work is None else frozenset(await asyncio.to_thread(work.unsettled_services))
        looked = partial(_looked, policy=policy, resting=resting, busy=busy, now=now)
        view, proposed, distance = await self.context.ask(looked)
        if not proposed and distance:
            proposed = await self._nearer(view, resting, busy, now)
        if move and proposed:
            self.context.put([MoveAsked(one.task, one.target, one.reason) for one in proposed])
            for one in proposed:
                log.info("rebalancing", task=one.name, source=one.source, target=one.target, benefit=one.benefit)
                self._moved_at[one.task] = now
                self._under_way[one.task] = one
        self._metrics.deviation.set(view.deviation)
        self._metrics.distance.set(0.0 if distance is None else distance)
        self._show(view, proposed, distance, now)

    async def _nearer(
        self, view: BalanceView, resting: frozenset[TaskId], busy: frozenset[tuple[str, str]], now: float
    ) -> list[BalancingMove]:
        """Moves that bring running services nearer to those they talk to, where loads leave that open."""
        cost = self._settings.traffic_cost
        found = await self.context.ask_in_pieces(lambda questions: questions.plans.application_moves(cost, now))
        wanted = [BringNearer(one.task, one.source, one.target, one.saves) for one in found]
        return nearer(view, self._settings.policy(), wanted, cost, resting, busy)

    def _show(self, view: BalanceView, proposed: list[BalancingMove], distance: float | None, now: float) -> None:
        recent = [one for one in self._done if now - one.at < 3600]
        report = BalanceReport(
            now,
            self._settings.enabled,
            self._settings.every,
            self._settings.policy(),
            round(view.spread, 4),
            round(view.deviation, 4),
            distance,
            self._placed / self._decided if self._decided else None,
            float(len(recent)),
        )
        self._board.show(replace(report, proposed=tuple(proposed), done=tuple(self._done)))


def _looked(
    questions: Questions,
    *,
    policy: BalancePolicy,
    resting: frozenset[TaskId],
    busy: frozenset[tuple[str, str]],
    now: float,
) -> tuple[BalanceView, list[BalancingMove], float | None]:
    balance = questions.balance
    view = balance.view(now)
    proposed = propose(view, policy, lambda task: balance.targets(task, now), resting, busy)
    return view, proposed, balance.mean_distance()
