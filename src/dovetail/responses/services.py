"""Answers about services: what applying them did, how their replicas are, where they are reached."""

from typing import Any

from typing_extensions import TypedDict


class FieldChangeRow(TypedDict):
    """`field`: a path such as `run.image`. The values as they are in JSON, null for what was not there."""

    field: str
    before: Any
    after: Any


class AppliedService(TypedDict):
    """What a definition did, or with `dry_run` would do. `outcome`: created, unchanged, changed (in place) or replaced;
    `replaced`: how many replicas are replaced by new ones."""

    namespace: str
    name: str
    outcome: str
    revision: int
    replaced: int
    changes: list[FieldChangeRow]


class AppliedServices(TypedDict):
    services: list[AppliedService]


class ServiceRow(TypedDict):
    """`rollout`: progressing, complete, failed or rolled_back. `updated`: replicas of the present revision. `message`:
    what a person should know about the last update."""

    namespace: str
    name: str
    replicas: int
    ready: int
    updated: int
    revision: int
    rollout: str
    message: str
    removed: bool
    made_at: float


class ReplicaRow(TypedDict):
    """`name`: as it can be typed. `state`: of its task, or unready, draining, crash_loop. `workload`: its id."""

    name: str
    index: int
    revision: int
    workload: int
    state: str
    ready: bool
    message: str
    restarts: int
    node: str | None
    address: str | None
    ports: dict[str, int]
    started_at: float | None


class RevisionRow(TypedDict):
    """`stable`: it was the last one that became healthy."""

    number: int
    made_at: float
    cause: str
    current: bool
    stable: bool
    image: str | None
    command: list[str]


class ServiceDetail(ServiceRow):
    spec: dict[str, Any]
    items: list[ReplicaRow]
    revisions: list[RevisionRow]
