"""Smaller amounts that a workload could ask for, so that enough of its tasks fit on given nodes.

Guarantees: amounts are round numbers as people write them, and no more than the quota leaves for each task. Where
enough tasks do not fit with reasonable amounts, the answer is what the best node has free, for as many as fit then.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from dovetail.cluster.arrays import F8, Rows
from dovetail.engine.gangs.headroom import Headroom
from dovetail.model.device import WHOLE
from dovetail.model.resources import CPU, DISK, GPU, MEMORY

_HALVINGS = 48
_NEARLY = 0.01  # of the smallest unit: so far halving stays below what fits
#: A suggestion to ask for less than this share of the amount helps no user.
LEAST_SHARE = 0.05
_BINARY, _DECIMAL = (2**30, 2**20), (10**9, 10**6)


def largest_amounts(
    headroom: Headroom,
    needs: Mapping[str, float],
    names: Sequence[str],
    rows: Rows,
    wanted: int,
    allowed: Mapping[str, float],
) -> dict[str, int] | None:
    """Of the named resources, in smallest units; None: none that is worth asking for. `allowed`: by resource that its
    quota is short of, what each task could have."""
    if not len(rows):
        return None
    asked = {name: needs[name] for name in names}
    free = {name: headroom.free(name, rows) for name in names}
    others = headroom.copies(rows, {name: amount for name, amount in needs.items() if name not in asked})
    share = _largest_share(asked, free, others, wanted) if wanted > 1 else 0.0
    most = {name: min(amount * share + _NEARLY, allowed.get(name, np.inf)) for name, amount in asked.items()}
    found = _written(most, asked)
    if found is not None:
        return found
    each = {name: np.minimum(headroom.for_one(name, rows), allowed.get(name, np.inf)) for name in names}
    return _of_nearest(asked, each, others)


def _largest_share(asked: Mapping[str, float], free: Mapping[str, F8], others: F8, wanted: int) -> float:
    """Of all the amounts alike, with which so many copies fit."""

    def fits(share: float) -> bool:
        copies = others
        for name, amount in asked.items():
            copies = np.minimum(copies, np.floor(free[name] / max(1.0, amount * share)))
        return bool(copies.sum() >= wanted)

    if fits(1.0):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _of_nearest(asked: Mapping[str, float], free: Mapping[str, F8], others: F8) -> dict[str, int] | None:
    """What the node has free that lacks least."""
    lacking = np.where(others >= 1, 0.0, np.inf)
    for name, amount in asked.items():
        lacking = lacking + np.maximum(amount - free[name], 0.0) / amount
        lacking[free[name] <= 0] = np.inf
    nearest = int(lacking.argmin())
    if not np.isfinite(lacking[nearest]):
        return None
    return _written({name: min(amount, float(free[name][nearest])) for name, amount in asked.items()}, asked)


def _written(most: Mapping[str, float], asked: Mapping[str, float]) -> dict[str, int] | None:
    found = {name: round_below(name, amount, asked[name]) for name, amount in most.items()}
    return found if all(asked[name] * LEAST_SHARE <= amount < asked[name] for name, amount in found.items()) else None


def round_below(resource: str, most: float, asked: float) -> int:
    """The largest amount of the kind people write that is no more than `most`; 0 if that is none. `asked` tells in
    which units its user counts."""
    amount = int(most)
    for least, step in _steps(resource, asked):
        if amount >= least:
            return amount - amount % step
    return 0


def _steps(resource: str, asked: float) -> tuple[tuple[int, int], ...]:
    """From so much on, in steps of so much."""
    if resource == CPU:
        return (8000, 1000), (1000, 500), (100, 50), (10, 10), (1, 1)
    if resource == GPU:
        return ((1000, 1000),) if asked >= WHOLE else ((100, 50), (10, 10), (1, 1))
    if resource in (MEMORY, DISK):
        large, small = _DECIMAL if asked % 10**6 == 0 and asked % 2**20 else _BINARY
        return (8 * large, large), (256 * small, 256 * small), (16 * small, 16 * small), (1, 1)
    return ((1, 1),)
