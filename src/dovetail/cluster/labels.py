"""Node labels as columns: `int32[node]` codes and a vocabulary, one a key. Code 0 means the node lacks the label.

A comparison is decided once for each distinct value, never for each node.
"""

import re
from dataclasses import dataclass, field

import numpy as np

from dovetail.cluster.arrays import B1, FIRST_CAPACITY, I4, grown
from dovetail.model.selection import Operator
from dovetail.model.shape import Match

ABSENT = 0


_WHOLE = re.compile(r"[+-]?[0-9]+")  # `int` alone would also read "1_000", " 7 " and digits of other scripts


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


@dataclass(slots=True)
class LabelColumn:
    """One key over all nodes. `vocabulary[code - 1]` is the value of a code."""

    codes: I4
    vocabulary: list[str] = field(default_factory=list)
    code_of: dict[str, int] = field(default_factory=dict)
    tables: dict[Match, B1] = field(default_factory=dict)

    def code(self, value: str) -> int:
        """The code of a value, new if it was never seen."""
        found = self.code_of.get(value)
        if found is None:
            self.vocabulary.append(value)
            found = self.code_of[value] = len(self.vocabulary)
            self.tables.clear()
        return found

    def table(self, match: Match) -> B1:
        """bool[code]: does a node with this code match?"""
        found = self.tables.get(match)
        if found is None:
            if len(self.tables) > 256:
                self.tables.clear()
            values = [None, *self.vocabulary]
            found = self.tables[match] = np.array([value_matches(v, match) for v in values], dtype=np.bool_)
        return found


class LabelTable:
    """All label columns. Written by `Cluster` only."""

    def __init__(self) -> None:
        self.columns: dict[str, LabelColumn] = {}
        self._width = FIRST_CAPACITY

    def widen(self, width: int) -> None:
        self._width = width
        for column in self.columns.values():
            column.codes = grown(column.codes, width, ABSENT)

    def set_row(self, row: int, labels: dict[str, str]) -> None:
        for column in self.columns.values():
            column.codes[row] = ABSENT
        for key, value in labels.items():
            if key not in self.columns:
                self.columns[key] = LabelColumn(np.zeros(self._width, dtype=np.int32))
            column = self.columns[key]
            column.codes[row] = column.code(value)

    def row(self, row: int) -> dict[str, str]:
        return {key: column.vocabulary[code - 1] for key, column in self.columns.items() if (code := column.codes[row])}


def match_rows(column: LabelColumn | None, codes: I4 | None, match: Match) -> B1 | bool:
    """bool[node] for the given codes of a column; a plain bool where no node has the label at all."""
    if column is None or codes is None:
        return value_matches(None, match)
    if match.operator is Operator.IN and len(match.values) == 1:
        # The commonest comparison needs no table: one integer comparison over the column.
        code = column.code_of.get(match.values[0])
        return False if code is None else codes == code
    # Codes are always within the table; `clip` spares their check and conversion, more than half of the time.
    return column.table(match).take(codes, mode="clip")
