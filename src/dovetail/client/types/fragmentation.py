"""What the server answers about fragmentation."""

from typing_extensions import TypedDict


class FragmentedDomain(TypedDict):
    """Of what is free, a typical task cannot use `unusable_gpus` on average, and none can use `useless_gpus`."""

    level: str
    name: str
    gpus: float
    free_gpus: float
    unusable_gpus: float
    useless_gpus: float


class TypicalTask(TypedDict):
    """`share` of all tasks; it fits on so many `nodes`, and so many `tasks` of it fit in all."""

    ask: str
    gpu: float
    gpu_models: list[str]
    cpu: float
    memory: int
    share: float
    nodes: int
    tasks: int


class Defragmentation(TypedDict):
    """What moving some tasks would win back, found by trying `tried` of the `movable` ones: an estimate."""

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
