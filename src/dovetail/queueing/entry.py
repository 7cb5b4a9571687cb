"""A workload as the waiting line sees it: who it belongs to, how urgent it is, and how much it wants."""

from typing import NamedTuple


class QueueEntry(NamedTuple):
    """`rank` 0 is most urgent. `run_s` is how long it asks to run, None if it does not say;
    `expected_s` how long that usually comes to for its owner. `share` is the dominant
    share of the cluster that the whole workload wants, `width` the processors."""

    id: int
    queue: int
    tenant: str
    user: str | None
    rank: int
    submitted_at: float
    run_s: float | None = None
    share: float = 0.0
    width: float = 1.0
    expected_s: float | None = None
