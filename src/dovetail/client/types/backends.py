"""What the server answers about backends."""

from typing import Any

from typing_extensions import TypedDict


class BackendRow(TypedDict):
    """`state`: closed (it is used), open (it is left alone), half-open, starting or unusable, and `problem` says why.
    `waiting`: commands that it has not answered for sure."""

    name: str
    kind: str
    source: str
    added_at: float | None
    state: str
    problem: str
    nodes: int
    tasks: int
    waiting: int
    calls: int
    errors: int
    latency_p50_s: float | None
    latency_p99_s: float | None
    last_success_at: float | None
    last_error_at: float | None
    last_error: str
    capabilities: list[str]


class Backend(BackendRow):
    """`settings` as they were given, with ••• for every secret."""

    sees_own_writes: bool
    stale_for_s: float
    settings: dict[str, Any]


class RemovedBackend(TypedDict):
    """`unconfirmed`: stops that it did not answer; those tasks may run on there."""

    nodes: int
    tasks: int
    unconfirmed: int
