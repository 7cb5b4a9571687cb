"""Which ended runs are removed: the oldest ones, and never one that ended a short time ago.

A run folder or container also records that its key has run. It is removed only when the control plane has surely stored
how the attempt ended, which is why a run stays for `SETTLE_S` after its end.
"""

from collections.abc import Hashable, Mapping
from typing import TypeVar

SETTLE_S = 600.0
_Run = TypeVar("_Run", bound=Hashable)


def to_remove(ended_at: Mapping[_Run, float], keep: int, keep_for_s: float, now: float) -> list[_Run]:
    """The runs that are too old or too many, newest first. `ended_at`: when each run ended."""
    newest = sorted(ended_at, key=lambda run: -ended_at[run])
    return [
        run
        for place, run in enumerate(newest)
        if now - ended_at[run] >= SETTLE_S and (place >= keep or now - ended_at[run] > keep_for_s)
    ]
