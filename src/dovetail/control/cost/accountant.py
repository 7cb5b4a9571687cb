"""The subsystem `cost`: adds up costs now and then, warns about budgets, and folds old days.

It hears no steps, since those can be missed: it reads what the store knows, from where it ended last time. While it is
down, routes still answer, and budgets go by what was known last and what ran then.
"""

import asyncio
import time

import structlog

from dovetail.accounting.days import day_of
from dovetail.control.cost.book import CostBook
from dovetail.control.cost.budgets import BudgetStatus, warning
from dovetail.control.cost.metrics import CostMetrics
from dovetail.control.subsystems.contract import Subsystem, SubsystemContext

RESTS = 20  # times as long as adding up took: with very much work it is done less often, and budgets estimate

log = structlog.get_logger()


class Accountant(Subsystem):
    def __init__(self, context: SubsystemContext) -> None:
        super().__init__(context)
        self._book: CostBook = context.shared
        self._tidied = ""
        metrics: CostMetrics = context.metrics
        metrics.follow(self._book)

    async def run(self) -> None:
        while True:
            until = await self.context.ask(lambda _: self._book.settled_at())
            began, now = time.monotonic(), time.time()
            await asyncio.to_thread(self._book.settle, until)
            took_s = time.monotonic() - began
            for status, percent in await asyncio.to_thread(self._book.due_warnings, now):
                await self._warn(status, percent)
            if self._tidied != day_of(now):
                await asyncio.to_thread(self._book.tidy, now)
                self._tidied = day_of(now)
            await asyncio.sleep(max(self._book.settings.every, took_s * RESTS))

    async def _warn(self, status: BudgetStatus, percent: int) -> None:
        """The line is durable before it is noted as told: after a crash it may be told twice, never not at all."""
        words = warning(status, percent)
        log.warning(words, namespace=status.namespace, percent=percent)
        note = self._book.note(words)
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(note, self.context.control.loop))
        await asyncio.to_thread(self._book.warned, status, percent)
