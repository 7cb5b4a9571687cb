"""Answers that are kept while nothing changes, for clients that ask the same question again and again.

Guarantees: an answer is given again only for the same state of the engine and within `KEPT_S` seconds: how long victims
have run and when work will start also depend on the time.
"""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

KEPT_S = 5.0
MOST_KEPT = 64
NOT_KEPT = object()


class AnswerCache:
    def __init__(self) -> None:
        self._version: Hashable = None
        self._answers: OrderedDict[Hashable, tuple[float, Any]] = OrderedDict()

    def get(self, version: Hashable, question: Hashable, now: float) -> Any:
        """The answer, or NOT_KEPT."""
        at, answer = self._answers.get(question, (now, NOT_KEPT))
        return answer if version == self._version and at <= now < at + KEPT_S else NOT_KEPT

    def keep(self, version: Hashable, question: Hashable, now: float, answer: Any) -> None:
        if version != self._version:
            self._version = version
            self._answers.clear()
        self._answers[question] = now, answer
        self._answers.move_to_end(question)
        if len(self._answers) > MOST_KEPT:
            self._answers.popitem(last=False)
