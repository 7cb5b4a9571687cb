"""Which runs that have ended go: the oldest, and never those that somebody may just be about to ask about. Pure."""

from collections.abc import Hashable, Mapping
from typing import TypeVar

#: So long after its end nobody asks any more what became of a run, nor reads its output.
SETTLE_S = 600.0
_Run = TypeVar("_Run", bound=Hashable)


def to_remove(ended_at: Mapping[_Run, float], keep: int, keep_for_s: float, now: float) -> list[_Run]:
    """Of runs with the moments of their ends, those that are too old, or too many; the newest of them first."""
    newest = sorted(ended_at, key=lambda run: -ended_at[run])
    return [
        run
        for place, run in enumerate(newest)
        if now - ended_at[run] >= SETTLE_S and (place >= keep or now - ended_at[run] > keep_for_s)
    ]
