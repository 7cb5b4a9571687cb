"""Amounts that a person would write: `48GiB` rather than 51983712256 bytes."""

from dovetail.model.device import WHOLE
from dovetail.model.resources import CPU, DISK, GPU, MEMORY

_BINARY, _DECIMAL = (2**30, 2**20), (10**9, 10**6)


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
