"""Sequences of a batch log: the whole log, or runs of consecutive jobs that start at random places.

Sequences begin where they did in the published comparisons (RLScheduler, SC'20): places are drawn by NumPy's
`RandomState`, seeded as old OpenAI gym did it, so the same log, number, length and seed always give the same places.
Leaves out a sequence's length of jobs at both ends of the log, as they did.
"""

from collections.abc import Sequence
from hashlib import sha512

import numpy as np

from dovetail.simulate.swf import BatchJob, BatchLog


class TooShort(ValueError):
    """The log has too few jobs for sequences of that length; says how many would do."""


def sequences(log: BatchLog, count: int, length: int, seed: int) -> list[Sequence[BatchJob]]:
    """`count` times `length` consecutive jobs. Raises TooShort."""
    return [log.jobs[offset : offset + length] for offset in offsets(len(log.jobs), count, length, seed)]


def offsets(jobs: int, count: int, length: int, seed: int) -> list[int]:
    """Where the sequences begin, counted from 0 in the order of submission. Raises TooShort."""
    if length > jobs:
        raise TooShort(f"a sequence of {length} jobs is longer than the log, which has {jobs}")
    first, last = length, jobs - length - 1  # the last one is left out
    if first >= last:
        longest = (jobs - 2) // 2
        advice = f"take at most {longest}, or the whole log" if longest > 0 else "take the whole log"
        raise TooShort(f"{jobs} jobs are too few to draw sequences of {length} from; {advice}")
    chance = np.random.RandomState(_words(seed))
    return [int(chance.randint(first, last)) for _ in range(count)]


def _words(seed: int) -> list[int]:
    """A digest of the seed in 32-bit words, the low one first."""
    rest = int.from_bytes(sha512(str(seed).encode()).digest()[:8], "little")
    found = []
    while rest:
        rest, word = divmod(rest, 2**32)
        found.append(word)
    return found
