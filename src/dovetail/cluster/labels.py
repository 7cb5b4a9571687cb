"""Node labels as columns: `int32[node]` codes and a vocabulary, one a key. Code 0 means the node lacks the label.
Taints as codes of distinct sets.

A comparison is decided once for each distinct value, tolerations once for each distinct set, never for each node.
"""

import re
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from dovetail.cluster.arrays import B1, F8, FIRST_CAPACITY, I4, grown
from dovetail.model.requests.asks import Match
from dovetail.model.workloads.selection import Effect, Operator, Taint

ABSENT = 0
KEPT_BYTES = 4 * 2**20  # of answers, a column and kind


_WHOLE = re.compile(r"[+-]?[0-9]+")  # `int` alone would also read "1_000", " 7 " and digits of other scripts
T = TypeVar("T", bool, float)
TaintSet = tuple[Taint, ...]
ANSWERS_KEPT = 64


def _as_int(text: str) -> int | None:
    return int(text) if _WHOLE.fullmatch(text) else None


def value_matches(value: str | None, match: Match) -> bool:
    """The meaning of a comparison, for one value. NotIn and DoesNotExist hold where the label is absent."""
    operator = match.operator
    if operator is Operator.EXISTS:
        return value is not None
    if operator is Operator.DOES_NOT_EXIST:
        return value is None
    if operator is Operator.IN:
        return value in match.values
    if operator is Operator.NOT_IN:
        return value not in match.values
    number, bound = _as_int(value) if value is not None else None, _as_int(match.values[0])
    if number is None or bound is None:
        return False
    return number > bound if operator is Operator.GT else number < bound


class LabelColumn:
    """One key over all nodes. `vocabulary[code - 1]` is the value of a code.

    Users ask the same few comparisons again and again, and labels seldom change: answers are kept until they do.
    """

    def __init__(self, width: int) -> None:
        self.codes: I4 = np.zeros(width, dtype=np.int32)
        self.vocabulary: list[str] = []
        self.code_of: dict[str, int] = {}
        self._masks: dict[Match, B1] = {}
        self._numbers: dict[Match, F8] = {}

    def widen(self, width: int) -> None:
        self.codes = grown(self.codes, width, ABSENT)
        self._forget()

    def write(self, row: int, value: str | None) -> None:
        code = ABSENT if value is None else self._code(value)
        if self.codes[row] != code:
            self.codes[row] = code
            self._forget()

    def value(self, row: int) -> str | None:
        code = self.codes[row]
        return self.vocabulary[code - 1] if code else None

    def mask(self, match: Match) -> B1:
        """bool[node]: which nodes match."""
        found = self._masks.get(match)
        if found is None:
            found = self._matching_codes(match).take(self.codes)
            _keep(self._masks, match, found)
        return found

    def _matching_codes(self, match: Match) -> B1:
        """bool[code]: a lookup for each value that is listed; a long list does not meet every value of the column."""
        if match.operator in (Operator.IN, Operator.NOT_IN):
            found = np.zeros(1 + len(self.vocabulary), dtype=np.bool_)
            found[[self.code_of[value] for value in match.values if value in self.code_of]] = True
            return found if match.operator is Operator.IN else ~found
        values = [None, *self.vocabulary]
        return np.array([value_matches(value, match) for value in values], dtype=np.bool_)

    def number(self, match: Match) -> F8:
        """The same as 1.0 and 0.0, ready to be weighted."""
        found = self._numbers.get(match)
        if found is None:
            found = self.mask(match).astype(np.float64)
            _keep(self._numbers, match, found)
        return found

    def _code(self, value: str) -> int:
        """The code of a value, new if it was never seen."""
        found = self.code_of.get(value)
        if found is None:
            self.vocabulary.append(value)
            found = self.code_of[value] = len(self.vocabulary)
        return found

    def _forget(self) -> None:
        self._masks.clear()
        self._numbers.clear()


def _keep(answers: dict[Match, Any], match: Match, answer: npt.NDArray[Any]) -> None:
    if len(answers) * answer.nbytes >= KEPT_BYTES:
        answers.clear()
    answers[match] = answer


class LabelTable:
    """All label columns. Written by `Cluster` only."""

    def __init__(self) -> None:
        self.columns: dict[str, LabelColumn] = {}
        self._width = FIRST_CAPACITY

    def widen(self, width: int) -> None:
        self._width = width
        for column in self.columns.values():
            column.widen(width)

    def set_row(self, row: int, labels: dict[str, str]) -> None:
        for key, column in self.columns.items():
            if key not in labels:
                column.write(row, None)
        for key, value in labels.items():
            if key not in self.columns:
                self.columns[key] = LabelColumn(self._width)
            self.columns[key].write(row, value)

    def row(self, row: int) -> dict[str, str]:
        values = ((key, column.value(row)) for key, column in self.columns.items())
        return {key: value for key, value in values if value is not None}


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
