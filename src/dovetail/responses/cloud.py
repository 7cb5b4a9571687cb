"""Answers about machines that are launched for work: what could be launched, and what runs."""

from typing_extensions import TypedDict


class CloudOfferRow(TypedDict):
    """A type of machine in one zone. `instance_type`, `region` and `zone` as the cloud names them; empty where machines
    have none. The price is for an hour. `offered`: work may be placed there now; else `why_not` says why."""

    backend: str
    name: str
    instance_type: str
    region: str
    zone: str
    cpu: float
    memory: int
    gpus: int
    gpu_model: str
    price_per_hour: float
    currency: str
    spot: bool
    offered: bool
    why_not: str


class InstanceTask(TypedDict):
    namespace: str
    name: str
    replica: int
    state: str


class CloudInstanceRow(TypedDict):
    """A machine with our mark. `known`: false: nobody knows of it, and it will be ended. `cost`: what it has cost since
    its launch at today's price. `ends_at`: its owner has announced that it takes it back then."""

    backend: str
    id: str
    node: str
    state: str
    type: str
    address: str | None
    launched_at: float | None
    ends_at: float | None
    reason: str
    known: bool
    spot: bool
    price_per_hour: float | None
    currency: str
    cost: float | None
    tasks: list[InstanceTask]


class CloudProblem(TypedDict):
    """A backend that could not be asked."""

    backend: str
    problem: str


class CloudInstanceList(TypedDict):
    items: list[CloudInstanceRow]
    problems: list[CloudProblem]


class ReapedInstances(TypedDict):
    """`items`: machines that nobody knew of. With `dry_run` they still run, otherwise they were ended."""

    dry_run: bool
    items: list[CloudInstanceRow]
    problems: list[CloudProblem]
