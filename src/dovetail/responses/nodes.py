"""Answers about nodes, orders to their agents, and the reports of agents."""

from typing import Any, NotRequired

from typing_extensions import TypedDict

from dovetail.responses.workloads import TaskRow


class ResourceUse(TypedDict):
    """`share`: allocated divided by capacity, 0 without capacity."""

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


class NodePage(TypedDict):
    """`total`: of all pages. `counts`: nodes by status, whatever statuses were asked for."""

    items: list[NodeRow]
    total: int
    counts: dict[str, int]


class NodeGpu(TypedDict):
    """One GPU of a node. `used`: thousandths of it that tasks have."""

    slot: int
    model: str
    memory: int
    island: int
    numa: int | None
    address: str | None
    uuid: str | None
    used: int


class FailedPlacements(TypedDict):
    """Tasks of one workload that could not be started on a node. `reason`: of the last."""

    workload: str
    times: int
    last_at: float
    reason: str


class NodeQuarantine(TypedDict):
    """Why a node gets no tasks, from `since` to `until`. `lift`: the command that ends it at once."""

    since: float
    until: float
    failures: list[FailedPlacements]
    lift: str


class NodeInterface(TypedDict):
    """A network interface. `speed_mbps` None: unknown, as for virtual ones."""

    name: str
    mac: str
    up: bool
    speed_mbps: int | None
    addresses: list[str]


class NodeSwitch(TypedDict):
    """The port of a switch that an interface is plugged into, as LLDP says."""

    interface: str
    switch: str
    port: str


class NodeGpuInstance(TypedDict):
    """A MIG instance. `memory`: bytes."""

    profile: str
    uuid: str
    memory: int


class NodeGpuHardware(TypedDict):
    """A GPU as its driver describes it. `links`: how many NVLinks lead to another GPU (its PCI address) or to `switch`.
    `mig`: on or off; None: it has no such mode."""

    model: str
    uuid: str
    address: str
    memory: int
    island: int
    links: dict[str, int]
    mig: str | None
    instances: list[NodeGpuInstance]


class NodeInventory(TypedDict):
    """What the agent found in the machine. `mps`: the daemon runs that lets processes share a GPU; None: no GPU."""

    kernel: str
    virtualisation: str
    driver: str | None
    cuda: str | None
    mps: bool | None
    interfaces: list[NodeInterface]
    switches: list[NodeSwitch]
    gpus: list[NodeGpuHardware]


class NodeDetail(NodeRow):
    """`definition`: the body that registers the node, but for its inventory, which agents report. `quarantine` is None
    where it is in none."""

    definition: dict[str, Any]
    gpus: list[NodeGpu]
    inventory: NodeInventory | None
    quarantine: NodeQuarantine | None


class RegisteredNode(NodeDetail):
    """`token`: of a new node, with which its agent speaks for it. It is told this once."""

    token: NotRequired[str]


class NodeTask(TaskRow):
    namespace: str
    name: str


class ReportedTask(TypedDict):
    """What an agent reports about one attempt. `state`: running or finished. `use`: those fields of
    `MeasuredTaskUse` that were measured. `flows`: on which ports it listens, and what it exchanged with whom."""

    key: str
    state: str
    exit_code: NotRequired[int | None]
    reason: NotRequired[str]
    use: NotRequired[dict[str, float]]
    flows: NotRequired[dict[str, Any]]


class RunOrder(TypedDict):
    """`run.env`: the variables of the task, with those that every backend adds, except to VMs."""

    key: str
    namespace: str
    name: str
    replica: int
    replicas: int
    run: dict[str, Any]
    resources: dict[str, Any]
    limits: dict[str, Any]
    deadline: dict[str, Any]
    grace_s: float | None
    devices: list[int]
    vm: dict[str, Any] | None


class AgentCall(TypedDict):
    """A question to the agent, which it answers with `POST /nodes/NAME/calls/ID`. `kind` and what belongs to it:
    `logs` (`offset`, `limit`), `log_tail` (`lines`), `log_since` (`at`); about VMs `vms`, `vm_power` (`power`),
    `vm_snapshots`, `vm_snapshot`, `vm_revert` and `vm_remove_snapshot` (`name`), `vm_offer` (`name`); about
    live migrations `vm_leaving`, `vm_peer` (`leaving`), `vm_expect` (`move`), `vm_send` (`move`, `peer`),
    `vm_presence`, `vm_settle` (`number`, `at`). `execute` (`session`, `command`, `input`, `terminal`) and
    `attach` (`session`, `input`) are not answered: the agent begins the session."""

    id: str
    kind: str
    key: str
    asked: dict[str, Any]


class InputPiece(TypedDict):
    """`content` (base64), or a new size of the terminal."""

    content: str | None
    rows: int | None
    columns: int | None


class InputPieces(TypedDict):
    """What a command reads. `next`: the number to ask for next. `ended`: there is no more."""

    pieces: list[InputPiece]
    next: int
    ended: bool


class NodeOrders(TypedDict):
    """What an agent has to do. `run` and `stop` are repeated until the agent has reported what they ask for. `kill`:
    those of `stop` that get no grace. `calls`: questions, each asked once. `version`: of the latest change."""

    run: list[RunOrder]
    stop: list[str]
    kill: list[str]
    calls: list[AgentCall]
    version: int


class FailureReport(TypedDict):
    """The nodes that failed, and what is done at once for gangs that lost tasks, one line each."""

    level: str
    name: str
    nodes: list[str]
    recoveries: list[str]
