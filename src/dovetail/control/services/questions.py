"""Where the API asks long questions: they are worked out between the turns of the loop, a little at a time.

Questions and decisions share one thread and one state. So a question is a sequence of pieces (`engine.pieces`), and all
questions together get `budget_s` seconds, then the loop has its turn. Requests wait for each other in order of arrival,
piece by piece: a short question is not held up by a long one.

Guarantees: an answer is about one state of the engine. A question that goes on finds the state that it began with; if
events came meanwhile, it begins anew, with twice the budget, so that it may get through before the next event. After
`MOST_STARTS` it is worked out in one go: on a cluster that changes all the time, making a few decisions wait once is
better than no answer. Questions are bounded (tasks of a plan, nodes looked at), so that wait is too.
Left to others: which pieces there are, and keeping answers (`engine.questions.plan_questions`).
"""

import asyncio
import time
from collections.abc import Callable, Hashable
from math import inf
from typing import TypeVar

from dovetail.engine.pieces import IsSpent, Pieces, never

MOST_STARTS = 4

T = TypeVar("T")


class QuestionDesk:
    """`version` tells the states of the engine apart. The clock may be another in tests."""

    def __init__(
        self, version: Callable[[], Hashable], budget_s: float, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._version = version
        self._budget_s = budget_s
        self._clock = clock
        self._used_s = 0.0  # since the loop last had a turn
        self._ends_at = 0.0
        self._in_turn = asyncio.Lock()

    async def ask(self, question: Callable[[IsSpent], Pieces[T]]) -> T:
        """The answer. Raises what the question raises."""
        for start in range(MOST_STARTS):
            version, pieces = self._version(), question(self._is_spent)
            try:
                while True:
                    async with self._in_turn:
                        await self._let_the_loop_decide()
                        if self._version() != version:
                            break
                        answer = self._work(pieces, self._budget_s * 2**start)
                        if answer is not None:
                            return answer[0]
            finally:
                pieces.close()
        async with self._in_turn:
            await self._let_the_loop_decide()
            whole = self._work(question(never), inf)
            assert whole is not None
            return whole[0]

    def _is_spent(self) -> bool:
        return self._clock() >= self._ends_at

    async def _let_the_loop_decide(self) -> None:
        if self._used_s >= self._budget_s:
            await asyncio.sleep(0)
            self._used_s = 0.0

    def _work(self, pieces: Pieces[T], budget_s: float) -> tuple[T] | None:
        """As many pieces as the budget allows, at least one. The answer, or None: there is more to do."""
        began = self._clock()
        self._ends_at = began + max(0.0, budget_s - self._used_s)
        try:
            while True:
                next(pieces)
                if self._is_spent():
                    return None
        except StopIteration as end:
            return (end.value,)
        finally:
            self._used_s += self._clock() - began
