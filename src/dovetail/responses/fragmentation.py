"""Answers about fragmentation."""

from typing_extensions import TypedDict


class FragmentedDomain(TypedDict):
    """Of the free GPUs, a typical task on average cannot use `unusable_gpus`, and none can use `useless_gpus`."""

    level: str
    name: str
    gpus: float
    free_gpus: float
    unusable_gpus: float
    useless_gpus: float


class TypicalTask(TypedDict):
    """`share`: its part of all tasks. It fits on `nodes` nodes, and `tasks` copies of it fit in all."""

    ask: str
    gpu: float
    gpu_models: list[str]
    cpu: float
    memory: int
    share: float
    nodes: int
    tasks: int


class Defragmentation(TypedDict):
    """What moving tasks would recover: an estimate from trying `tried` of the `movable` tasks."""

    estimate: bool
    won_gpus: float
    moves: int
    tried: int
    movable: int


class FragmentationReport(TypedDict):
    tasks_seen: int
    cluster: FragmentedDomain
    domains: list[FragmentedDomain]
    typical: list[TypicalTask]
    unplaceable_share: float
    defragmentation: Defragmentation
