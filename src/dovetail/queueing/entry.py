"""A workload as the pending queue sees it: its owner, priority and size."""

from typing import NamedTuple


class QueueEntry(NamedTuple):
    """`rank` 0 is the highest priority. `run_s` is the declared run time, `expected_s` the one predicted from the
    owner's history. `share` is the dominant share of the cluster that the whole workload requests, `width` its
    processors."""

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
