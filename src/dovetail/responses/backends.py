"""Answers about backends."""

from typing import Any

from typing_extensions import TypedDict


class BackendRow(TypedDict):
    """`state` is that of its circuit breaker: closed (in use), open (not called), half-open, starting or unusable;
    `problem` says why. `waiting`: commands whose outcome is not known yet."""

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


class BackendDetail(BackendRow):
    """`settings` as they were given, with ••• in place of every secret."""

    sees_own_writes: bool
    stale_for_s: float
    settings: dict[str, Any]


class AddedBackend(BackendDetail):
    """`notes`: what else adding it has changed, a sentence each."""

    notes: list[str]


class BackendList(TypedDict):
    """`kinds`: the kinds of backend that the server can add. `total`: of all pages. `counts`: backends of all pages by
    state."""

    items: list[BackendRow]  # of a list that is derived from, Pydantic would not know what it holds
    total: int
    counts: dict[str, int]
    kinds: list[str]


class RemovedBackend(TypedDict):
    """`unconfirmed`: stops that the backend did not confirm; those tasks may still run there."""

    nodes: int
    tasks: int
    unconfirmed: int
