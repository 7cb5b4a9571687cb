"""Traffic patterns of the usual collective operations: which rank sends how much to which other rank.

    ring all-reduce        2 (n - 1) steps; in each, every rank sends 1/n of the data to the next one
    tree all-reduce        two binary trees, each for one half of the data, up and down again; a rank that has children
                           in one has none in the other, and the steps are pipelined
    all-to-all             n - 1 steps; in each, every rank sends 1/n of its data to another one

Ranks are numbers from 0 in order of rank. Guarantees: pure, the same for every placement. Left to others: which links
the data takes (`fabric`), and how long that takes (`communication`).
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dovetail.cluster.arrays import F8, Rows

_PATTERNS_KEPT = 64


@dataclass(frozen=True, slots=True)
class Pattern:
    """Flows from `sources[i]` to `targets[i]` of `shares[i]` of the data, all at once, `times` over; `steps` of them
    run one after the other."""

    sources: Rows
    targets: Rows
    shares: F8
    times: int
    steps: int


@lru_cache(maxsize=_PATTERNS_KEPT)
def ring(ranks: int) -> Pattern:
    sources = np.arange(ranks)
    times = 2 * (ranks - 1)
    return Pattern(sources, np.roll(sources, -1), np.full(ranks, 1.0 / ranks), times, times)


@lru_cache(maxsize=_PATTERNS_KEPT)
def double_tree(ranks: int) -> Pattern:
    """The second tree is the first one with the ranks in the opposite order or, where there is an odd number of them,
    shifted by one."""
    children, parents = _edges(ranks)
    if ranks % 2:
        again = ((children + 1) % ranks, (parents + 1) % ranks)
    else:
        again = (ranks - 1 - children, ranks - 1 - parents)
    below, above = np.concatenate([children, again[0]]), np.concatenate([parents, again[1]])
    sources, targets = np.concatenate([below, above]), np.concatenate([above, below])
    return Pattern(sources, targets, np.full(len(sources), 0.5), 1, 2 * _depth(children, parents))


def _edges(ranks: int) -> tuple[Rows, Rows]:
    """Child and parent, of all ranks but 0: of the even ranks every other one is above its neighbours, of those every
    other one again, so that a part of the tree is a range of ranks."""
    children = np.arange(1, ranks)
    lowest = children & -children
    above = (children ^ lowest) | (lowest << 1)
    return children, np.where(above < ranks, above, children ^ lowest)


def _depth(children: Rows, parents: Rows) -> int:
    """Links from the farthest rank to rank 0."""
    above = np.zeros(len(children) + 1, dtype=np.intp)
    above[children] = parents
    at, depth = np.arange(len(above)), 0
    while at.any():
        at = above[at]
        depth += 1
    return depth
