"""What needs attention, for the API: looked at when somebody asks, and kept for a few seconds.

Guarantees: however many ask, one look runs at a time, and its long parts are questions in pieces. A part that fails is
named as an item of its own; the others are told all the same.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from math import inf
from statistics import median
from typing import Any

import structlog

from dovetail.control.attention import wording
from dovetail.control.backends.member import Member
from dovetail.control.cost.budgets import BudgetStatus
from dovetail.control.loop.store_access import on_store_thread
from dovetail.control.service_controller.desk import ServiceStatus
from dovetail.control.subsystems.runner import SubsystemHealth
from dovetail.control.trends.book import TrendBook
from dovetail.control.trends.down_sampling import TrendWindow, window
from dovetail.control.trends.series import FAILED
from dovetail.engine.pieces import IsSpent, Pieces
from dovetail.engine.questions.attention_questions import EngineFindings, NeverFits
from dovetail.engine.questions.questions import Questions
from dovetail.model.workloads.workload import Workload
from dovetail.responses.attention import AttentionAnswer, AttentionItem
from dovetail.store.contract import StoreError

KEPT_S = 3.0
MOST_ITEMS = 50
MOST_CORES = 3  # of work that fits nowhere, whose requirements are compared
MOST_HEADS = 1000
GRACE_S = 60.0
HOUR_S, DAY_S = 3600.0, 86_400.0
LEAST_FAILURES, TIMES_USUAL = 5.0, 2.0

Ask = Callable[[Callable[[IsSpent], Pieces[Any]]], Awaitable[Any]]

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class AttentionSources:
    """What it looks at, of the parts around the engine."""

    ask: Ask
    definitions: Callable[[set[int]], Awaitable[dict[int, Workload]]]
    members: Callable[[], list[Member]]
    subsystems: Callable[[], list[SubsystemHealth]]
    budgets: Callable[[float], list[BudgetStatus]]
    services: Callable[[], Awaitable[list[ServiceStatus]]]
    contradictions: Callable[[], list[Any]]
    trends: TrendBook


class AttentionService:
    def __init__(self, questions: Questions, sources: AttentionSources) -> None:
        self._questions, self._sources = questions, sources
        self._turn = asyncio.Lock()
        self._kept: AttentionAnswer | None = None
        self._looked_at = -inf
        self._predicted: OrderedDict[int, float] = OrderedDict()  # by head of a queue: its start, as first predicted

    async def answer(self) -> AttentionAnswer:
        async with self._turn:
            if self._kept is None or time.monotonic() - self._looked_at > KEPT_S:
                items = wording.worst_first(await self._items(time.time()))
                self._kept = {"items": items[:MOST_ITEMS], "total": len(items), "at": time.time()}
                self._looked_at = time.monotonic()
            return self._kept

    async def _items(self, now: float) -> list[AttentionItem]:
        sources = self._sources
        found: list[AttentionItem] = []
        parts: dict[str, Callable[[], Awaitable[Iterator[AttentionItem] | list[AttentionItem]]]] = {
            "the scheduler": lambda: self._of_engine(now),
            "services": lambda: self._of_services(now),
            "trends": lambda: on_store_thread(self._failures, now),
        }
        found += wording.backends(sources.members())
        found += wording.subsystems(sources.subsystems())
        found += wording.budgets(sources.budgets(now))
        strange = sources.contradictions()
        found += wording.contradictions([str(one) for one in strange], strange[0].node if strange else "")
        for name, part in parts.items():
            try:
                found += await part()
            except (StoreError, ValueError) as error:
                log.warning("what needs attention is not fully known", part=name, error=str(error))
        return found

    # --- the engine ----------------------------------------------------------------------------------------------

    async def _of_engine(self, now: float) -> list[AttentionItem]:
        findings: EngineFindings = await self._sources.ask(lambda _: self._questions.attention.findings())
        cores = await self._cores(findings.never, now)
        return [
            *wording.silent(findings.silent),
            *wording.quarantined(findings.quarantined, now),
            *wording.split_gangs(findings.split),
            *wording.never_fits(findings.never, cores),
            *(await self._overdue(findings, now)),
        ]

    async def _cores(self, never: list[NeverFits], now: float) -> dict[int, str]:
        """By workload, in words; of the first few, since comparing requirements takes a while."""
        ids = [one.example.id for one in never if not one.qualified][:MOST_CORES]
        specs = await self._sources.definitions(set(ids))
        found: dict[int, str] = {}
        for id_ in ids:
            if id_ in specs:
                words = await self._sources.ask(lambda _, id_=id_: self._questions.plans.core(specs[id_], id_, now))  # type: ignore[misc]
                if words:
                    found[id_] = f"no node has {' and '.join(words)}"
        return found

    async def _overdue(self, findings: EngineFindings, now: float) -> list[AttentionItem]:
        """Heads that wait longer than was predicted when they were first seen."""
        unknown = [head.id for _, head in findings.heads if head.id not in self._predicted]
        if unknown:
            starts = await self._sources.ask(lambda _: self._questions.plans.starts(now, unknown))
            for id_ in unknown:
                if id_ in starts:
                    self._predicted[id_] = starts[id_].late
            while len(self._predicted) > MOST_HEADS:
                self._predicted.popitem(last=False)
        return [
            wording.overdue(queue, head, self._predicted[head.id], now)
            for queue, head in findings.heads
            if self._predicted.get(head.id, inf) + GRACE_S < now
        ]

    # --- other parts ---------------------------------------------------------------------------------------------

    async def _of_services(self, now: float) -> list[AttentionItem]:
        return list(wording.rollouts(await self._sources.services(), now))

    def _failures(self, now: float) -> list[AttentionItem]:
        """On a thread. The last hour against the median of the day before it, hour by hour."""
        last_hour = sum(self._counted(window(now, HOUR_S, 60)))
        usual = median(self._counted(window(now, DAY_S, 24))[:-1] or [0.0])
        if last_hour < max(LEAST_FAILURES, TIMES_USUAL * usual):
            return []
        return [wording.failures(last_hour, usual)]

    def _counted(self, steps: TrendWindow) -> list[float]:
        """How many failures were recorded in each step. Steps without any record are left out."""
        found = self._sources.trends.read(steps).series.get(FAILED, ())
        return [entry[0] for entry in found if entry is not None]
