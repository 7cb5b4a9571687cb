"""Answers about the latest decisions of the whole cluster."""

from typing_extensions import TypedDict


class RecentDecision(TypedDict):
    """One decision. `tasks`: of this workload, decided alike at the same time. `nodes`: where they were placed, the
    first few. `outcome`: placed, waits or preempts; `reason` is the scheduler's own word. `took_ms`: the mean of the
    decisions made in that turn of the loop; null where nobody knows any more."""

    at: float
    workload: int
    namespace: str
    name: str
    replica: int
    tasks: int
    outcome: str
    reason: str
    nodes: list[str]
    score: float | None
    why: str
    took_ms: float | None
