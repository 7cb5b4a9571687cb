"""What the server answers about nodes, what it tells them to do, and what they tell it."""

from typing import Any, NotRequired

from typing_extensions import TypedDict

from dovetail.client.types.workloads import TaskRow


class ResourceUse(TypedDict):
    """`share` is allocated over capacity, 0 where there is none."""

    unit: str
    capacity: float
    allocated: float
    share: float


class NodeResource(ResourceUse):
    reserved: float
    observed: float
    free: float


class NodeRow(TypedDict):
    name: str
    backend: str
    status: str
    reason: str
    online: bool
    cordoned: bool
    drained: bool
    labels: dict[str, str]
    taints: list[str]
    load: float
    tasks: int
    resources: dict[str, NodeResource]


class NodeGpu(TypedDict):
    """One GPU of a node; `used` in thousandths."""

    slot: int
    model: str
    memory: int
    island: int
    numa: int | None
    address: str | None
    uuid: str | None
    used: int


class NodeDetail(NodeRow):
    """`definition` is what would register the node again."""

    definition: dict[str, Any]
    gpus: list[NodeGpu]


class NodeTask(TaskRow):
    namespace: str
    name: str


class TaskReport(TypedDict):
    """What a node says of one attempt; `state` is running or finished."""

    key: str
    state: str
    exit_code: NotRequired[int | None]
    reason: NotRequired[str]


class RunOrder(TypedDict):
    key: str
    namespace: str
    name: str
    replica: int
    replicas: int
    run: dict[str, Any]
    limits: dict[str, Any]
    deadline: dict[str, Any]
    grace_s: float | None
    devices: list[int]


class Orders(TypedDict):
    """What a node is to do. Both lists repeat themselves until the node has reported what they ask for."""

    run: list[RunOrder]
    stop: list[str]


class FailureReport(TypedDict):
    """What is gone, and what is done at once for gangs that lost tasks, one line each."""

    level: str
    name: str
    nodes: list[str]
    recoveries: list[str]
