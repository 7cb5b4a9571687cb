"""Taints as codes of distinct sets: `int32[node]`. Tolerations are checked once a set, never once a node."""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from dovetail.cluster.arrays import FIRST_CAPACITY, I4, grown
from dovetail.model.workloads.selection import Effect, Taint

T = TypeVar("T", bool, float)
TaintSet = tuple[Taint, ...]
ANSWERS_KEPT = 64


class TaintTable:
    """Written by `Cluster` only. Code 0 is the empty set."""

    def __init__(self) -> None:
        self.codes: I4 = np.zeros(FIRST_CAPACITY, dtype=np.int32)
        self.sets: list[TaintSet] = [()]
        self.any_soft = False
        self._code_of: dict[TaintSet, int] = {(): 0}
        self._answers: dict[Hashable, Any] = {}

    def widen(self, width: int) -> None:
        self.codes = grown(self.codes, width)
        self._answers.clear()

    def set_row(self, row: int, taints: list[Taint]) -> None:
        key = tuple(sorted(set(taints), key=str))
        code = self._code_of.get(key)
        if code is None:
            code = self._code_of[key] = len(self.sets)
            self.sets.append(key)
            self.any_soft = self.any_soft or any(taint.effect is Effect.PREFER_NO_SCHEDULE for taint in key)
            self._answers.clear()
        if self.codes[row] != code:
            self.codes[row] = code
            self._answers.clear()

    def ask(self, key: Hashable, of_set: Callable[[TaintSet], T]) -> npt.NDArray[Any] | T:
        """The answer for each node's set, a bool or a float. Kept under `key` until taints change; a plain value if all
        sets answer alike."""
        found = self._answers.get(key)
        if found is None:
            answers = [of_set(taints) for taints in self.sets]
            found = answers[0] if len(set(answers)) == 1 else np.array(answers).take(self.codes)
            if len(self._answers) >= ANSWERS_KEPT:
                self._answers.clear()
            self._answers[key] = found
        return found

    def row(self, row: int) -> TaintSet:
        return self.sets[int(self.codes[row])]
