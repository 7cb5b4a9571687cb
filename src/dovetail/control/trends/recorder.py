"""The subsystem `trends`: takes a sample every few seconds and writes it down.

A sample that comes late, or not at all, leaves a gap: nothing is made up for the time between.
"""

import asyncio
import time
from functools import partial
from typing import Annotated

from pydantic import Field

from dovetail.control.subsystems.contract import Subsystem, SubsystemContext
from dovetail.control.trends.book import TrendBook
from dovetail.control.trends.series import values_of
from dovetail.engine.pieces import Pieces
from dovetail.engine.questions.questions import Questions
from dovetail.engine.questions.trend_questions import NodeShares, TrendSample
from dovetail.model.text.quantity import Duration
from dovetail.model.text.strict import Strict


class TrendSettings(Strict):
    every: Annotated[Duration, Field(ge=0.05, le=60)] = 10.0
    """How often use, waiting work and decisions are sampled for `dovetail trends` and the dashboard."""


class TrendRecorder(Subsystem):
    def __init__(self, context: SubsystemContext) -> None:
        super().__init__(context)
        self._book: TrendBook = context.shared
        settings: TrendSettings = context.settings
        self._every_s = settings.every

    async def run(self) -> None:
        before, began = await self.context.ask(lambda _: self._book.counts()), time.monotonic()
        while True:
            # At multiples of the period, so that each bucket gets as many samples as the others.
            await asyncio.sleep(self._every_s - time.time() % self._every_s)
            at = time.time()
            sample = await self.context.ask_in_pieces(partial(_sample, at))
            counts, now = await self.context.ask(lambda _: self._book.counts()), time.monotonic()
            nodes = await self.context.ask(partial(_nodes, at))
            values = values_of(sample, before, counts, now - began)
            before, began = counts, now
            await asyncio.to_thread(self._record, at, values, nodes)

    def _record(self, at: float, values: dict[str, float], nodes: NodeShares) -> None:
        self._book.record(at, values)
        self._book.nodes.add(at, nodes.names, nodes.values)
        self._book.nodes.save(at)


def _sample(at: float, questions: Questions) -> Pieces[TrendSample]:
    return questions.trends.sample(at)


def _nodes(at: float, questions: Questions) -> NodeShares:
    return questions.trends.node_shares(at)
