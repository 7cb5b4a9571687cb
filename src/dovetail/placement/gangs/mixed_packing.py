"""Packs tasks with different requests onto the same nodes, exactly.

Node after node, for every number of tasks of the rarer kinds placed so far, it keeps the largest number of tasks of the
commonest kind that fits beside them. So it covers all ways to divide the nodes without listing them.
Guarantees: pure; finds a packing if and only if there is one by amounts alone. Left to others: everything that is not
an amount.
"""

from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from dovetail.cluster.arrays import B1, F8

_MOST_STEPS = 20_000_000
Counts = npt.NDArray[np.int64]


def pack(free: F8, columns: list[F8], allowed: list[B1], counts: list[int]) -> list[list[int]] | None:
    """For each kind the node of each of its tasks; None: they do not fit. `free` is float64[resource, node], each
    column float64[resource]. Raises ValueError if there are too many possibilities."""
    last = max(range(len(counts)), key=counts.__getitem__)
    others = [kind for kind in range(len(counts)) if kind != last]
    sizes = [counts[kind] + 1 for kind in others]
    states = prod(sizes)
    nodes = [node for node in range(free.shape[1]) if any(may[node] for may in allowed)]
    if len(nodes) * states * states > _MOST_STEPS:
        raise ValueError(f"{states} combinations on {len(nodes)} nodes")
    best: Counts = np.full(sizes, -1, dtype=np.int64)
    best[(0,) * len(sizes)] = 0
    history = [best]
    options = [_options(free[:, node], columns, [may[node] for may in allowed], counts, last) for node in nodes]
    for choices in options:
        following = best.copy()
        for taken, beside in choices:
            to = tuple(slice(number, None) for number in taken)
            of = tuple(slice(0, size - number) for number, size in zip(taken, sizes, strict=True))
            moved = np.where(best[of] >= 0, np.minimum(best[of] + beside, counts[last]), -1)
            following[to] = np.maximum(following[to], moved)
        best = following
        history.append(best)
    if best[(-1,) * len(sizes)] < counts[last]:
        return None
    return _traced(history, options, nodes, counts, last)


def _options(
    free: F8, columns: list[F8], allowed: list[np.bool_], counts: list[int], last: int
) -> list[tuple[tuple[int, ...], int]]:
    """What one node could take of the other kinds, and how many of the last kind beside them; taking nothing is no
    option."""
    others = [kind for kind in range(len(counts)) if kind != last]
    most = [_copies(free, columns[kind], counts[kind]) if allowed[kind] else 0 for kind in others]
    found = []
    for taken in product(*(range(number + 1) for number in most)):
        left = free - sum((columns[kind] * number for kind, number in zip(others, taken, strict=True)), 0.0)
        if (left >= 0).all():
            beside = _copies(left, columns[last], counts[last]) if allowed[last] else 0
            if beside or any(taken):
                found.append((taken, beside))
    return found


def _copies(free: F8, column: F8, most: int) -> int:
    asked = column > 0
    return int(min(np.floor(free[asked] / column[asked]).min(initial=most), most))


def _traced(
    history: list[Counts],
    options: list[list[tuple[tuple[int, ...], int]]],
    nodes: list[int],
    counts: list[int],
    last: int,
) -> list[list[int]]:
    """From the end back: the option of each node that led there."""
    others = [kind for kind in range(len(counts)) if kind != last]
    found: list[list[int]] = [[] for _ in counts]
    at = tuple(counts[kind] for kind in others)
    wanted = counts[last]
    for index in range(len(nodes) - 1, -1, -1):
        before = history[index]
        if before[at] >= wanted:
            continue  # it is not needed
        for taken, beside in options[index]:
            came = tuple(here - number for here, number in zip(at, taken, strict=True))
            if min(came, default=0) >= 0 and before[came] >= 0 and before[came] + beside >= wanted:
                share = min(beside, wanted)
                for kind, number in zip(others, taken, strict=True):
                    found[kind] += [nodes[index]] * number
                found[last] += [nodes[index]] * share
                at, wanted = came, max(0, wanted - share)
                break
    return [rows[::-1] for rows in found]
