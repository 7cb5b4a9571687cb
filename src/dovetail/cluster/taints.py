"""Taints as codes of distinct sets: `int32[node]`. Tolerations are checked once a set, never once a node."""

import numpy as np

from dovetail.cluster.arrays import FIRST_CAPACITY, I4, grown
from dovetail.model.selection import Taint

TaintSet = tuple[Taint, ...]


class TaintTable:
    """Written by `Cluster` only. Code 0 is the empty set."""

    def __init__(self) -> None:
        self.codes: I4 = np.zeros(FIRST_CAPACITY, dtype=np.int32)
        self.sets: list[TaintSet] = [()]
        self._code_of: dict[TaintSet, int] = {(): 0}

    def widen(self, width: int) -> None:
        self.codes = grown(self.codes, width)

    def set_row(self, row: int, taints: list[Taint]) -> None:
        key = tuple(sorted(set(taints), key=str))
        code = self._code_of.get(key)
        if code is None:
            code = self._code_of[key] = len(self.sets)
            self.sets.append(key)
        self.codes[row] = code

    def row(self, row: int) -> TaintSet:
        return self.sets[int(self.codes[row])]
