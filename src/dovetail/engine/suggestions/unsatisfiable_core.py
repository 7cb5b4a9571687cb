"""The smallest unsatisfiable core: the fewest requirements that no node satisfies together.

Every node fails some set of requirements. A set that shares a requirement with each of those is satisfied by no node,
so the smallest core is a minimum hitting set. Sets are whole numbers, one bit for each requirement.

Guarantees: what is returned is a core; `exact` says that no smaller one exists. The search is limited by steps, not by
time. Left to others: what the requirements are, and which nodes fail them (`requirements`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np

from dovetail.cluster.arrays import B1

#: Distinct sets that are compared with one another, and branches that are looked at.
_MOST_SETS = 400
_MOST_STEPS = 20_000


@dataclass(frozen=True, slots=True)
class UnsatisfiableCore:
    """Positions of requirements, ascending. Not `exact`: a small set, perhaps not the smallest."""

    members: tuple[int, ...]
    exact: bool = True


def signatures(fails: B1) -> dict[int, int]:
    """Of `bool[requirement, node]`: each distinct set of failed requirements, with how many nodes fail just that."""
    requirements, nodes = fails.shape
    if not requirements or not nodes:
        return {0: nodes} if nodes else {}
    packed = np.ascontiguousarray(np.packbits(fails, axis=0, bitorder="little").T)
    whole = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    distinct, counts = np.unique(whole, return_counts=True)
    return {int.from_bytes(one.tobytes(), "little"): int(n) for one, n in zip(distinct, counts, strict=True)}


def minimal(sets: Iterable[int]) -> list[int]:
    """Those that contain no other of them, the smallest first."""
    found: list[int] = []
    for one in sorted(set(sets), key=lambda s: (s.bit_count(), s)):
        if not any(other & one == other for other in found):
            found.append(one)
    return found


def smallest_core(sets: Iterable[int]) -> UnsatisfiableCore | None:
    """None: some node fails nothing, or there is no node at all."""
    distinct = sorted(set(sets), key=lambda s: (s.bit_count(), s))
    if not distinct or not distinct[0]:
        return None
    search = _Search(minimal(distinct[:_MOST_SETS]))
    search.run()
    # It has to hit the sets that were left out too; what is added for them may be more than is needed.
    hitting = search.best
    for one in distinct[_MOST_SETS:]:
        if not one & hitting:
            hitting |= one & -one
    return UnsatisfiableCore(_positions(hitting), exact=hitting == search.best and not search.cut_short)


def _positions(members: int) -> tuple[int, ...]:
    return tuple(i for i in range(members.bit_length()) if members >> i & 1)


@dataclass
class _Search:
    """Branch and bound over the members of the smallest set that is not hit yet."""

    sets: Sequence[int]
    best: int = 0
    cut_short: bool = False
    _steps: int = 0

    def run(self) -> None:
        self.best = _greedy(self.sets)
        self._branch(0, 0, self.sets)

    def _branch(self, chosen: int, banned: int, left: Sequence[int]) -> None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            self.cut_short = True
            return
        if not left:
            if chosen.bit_count() < self.best.bit_count():
                self.best = chosen
            return
        if chosen.bit_count() + _at_least(left) >= self.best.bit_count():
            return
        tight = min(left, key=lambda one: (one & ~banned).bit_count())
        options = _positions(tight & ~banned)
        for option in sorted(options, key=lambda i: -sum(one >> i & 1 for one in left)):
            bit = 1 << option
            self._branch(chosen | bit, banned, [one for one in left if not one & bit])
            banned |= bit  # cores with it have been looked at
            if any(not one & ~banned for one in left):
                return


def _greedy(sets: Sequence[int]) -> int:
    """A core, found by taking again and again the requirement that most of the remaining sets have."""
    chosen, left = 0, list(sets)
    while left:
        union = reduce(or_, left)
        bit = max((1 << i for i in _positions(union)), key=lambda b: sum(1 for one in left if one & b))
        chosen |= bit
        left = [one for one in left if not one & bit]
    return chosen


def _at_least(left: Sequence[int]) -> int:
    """Sets that have nothing in common need a member each."""
    used = count = 0
    for one in left:
        if not one & used:
            used |= one
            count += 1
    return count
