"""Repeating and summarising on a noisy machine.

Noise only ever slows work down, so the best of several rounds says most about the code: throughput and start-up
report that where it says so. Tails are part of the truth, so a p99 is the median of the rounds' p99s. Garbage
collection stays on while measuring, as it is in a server; what was built before is frozen out of it, so that a
benchmark's own scaffolding does not count.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median

from benchmarks.harness import Measured


@contextmanager
def quiet() -> Iterator[None]:
    """Measure inside: what exists now is left alone by the garbage collector."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def fastest(rounds: Sequence[float]) -> Measured:
    """The best of several throughputs."""
    return Measured(max(rounds), min(rounds), max(rounds), f"best of {len(rounds)}")


def middle(rounds: Sequence[float], what: str = "") -> Measured:
    """The median of the rounds."""
    said = f"median of {len(rounds)}" + (f" {what}" if what else "")
    return Measured(median(rounds), min(rounds), max(rounds), said)


def once(value: float, how: str) -> Measured:
    return Measured(value, value, value, how)


def quantile(samples: Sequence[float], share: float) -> float:
    """The sample that `share` of them do not exceed; no interpolation between two that were never seen."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def repeated(rounds: int, warm_ups: int, measure: Callable[[], float]) -> list[float]:
    """`rounds` results after `warm_ups` that do not count (imports, caches, the processor's clock)."""
    for _ in range(warm_ups):
        measure()
    return [measure() for _ in range(rounds)]
