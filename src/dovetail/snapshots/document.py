"""The format of a snapshot file, version 1: one JSON object, checked when it is read.

Times are seconds since the epoch. What a restart of the server restores is here in the words of its users; `terms` and
`notes` are the engine's own, may be left out of a file written by hand, and are then made from the definitions.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from dovetail.engine.settings import EngineSettings
from dovetail.model.network.topology import Topology
from dovetail.model.node import Node
from dovetail.model.policy import Policy
from dovetail.model.task import TaskState, WorkloadState
from dovetail.model.text.quantity import Count
from dovetail.model.text.strict import AtField, Name, NodeName, Strict, shared
from dovetail.model.workloads.workload import Workload

FORMAT = "dovetail-snapshot"
VERSION = 1

Time = Annotated[float, Field(allow_inf_nan=False)]
SourceKind = Literal["dovetail", "kubernetes", "slurm"]


class SnapshotTask(Strict):
    """A task that is not simply pending for the first time: those are left out."""

    replica: Count
    state: TaskState = TaskState.PENDING
    attempt: Count = 0
    node: NodeName | None = None
    backend: Name | None = None
    reason: str = ""
    message: str = ""
    exit_code: int | None = None
    placed_at: Time | None = None
    started_at: Time | None = None
    finished_at: Time | None = None
    failures: Count = 0
    bind_failures: Count = 0
    devices: list[Count] = shared([])

    @model_validator(mode="after")
    def _has_a_node(self) -> Self:
        if self.state.holds_node and self.node is None:
            raise AtField(("node",), f"is missing: a task that is {self.state} has a node")
        return self


class SnapshotWorkload(Strict):
    """`terms`: the place of its terms in the list of the file."""

    id: Annotated[Count, Field(ge=1)]
    definition: Workload
    submitted_at: Time
    terms: Count | None = None
    state: WorkloadState = WorkloadState.PENDING
    reason: str = ""
    message: str = ""
    started_at: Time | None = None
    tasks: list[SnapshotTask] = shared([])
    notes: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _tasks_are_its_own(self) -> Self:
        seen: set[int] = set()
        for index, task in enumerate(self.tasks):
            if task.replica >= self.definition.replicas:
                words = f"{task.replica} is not one of its {self.definition.replicas} replicas, which count from 0"
                raise AtField(("tasks", index, "replica"), words)
            if task.replica in seen:
                raise AtField(("tasks", index, "replica"), f"{task.replica} is given twice")
            seen.add(task.replica)
        return self


class SnapshotNode(Strict):
    """A node and its state. `row`: of equally good nodes the lower row wins. `outcomes`: how tasks ended there."""

    node: Node
    row: Count
    online: bool = True
    cordoned: bool = False
    drained: bool = False
    reason: str = ""
    outcomes: tuple[int, int, float, float] | None = None


class SnapshotReservation(Strict):
    """Capacity that is held: `holds` by node, in the smallest units; `target` as it was asked for."""

    id: Annotated[Count, Field(ge=1)]
    target: dict[str, Any]
    holds: dict[NodeName, dict[str, int]]
    start: Time
    end: Time
    begun: bool = False
    every_s: float | None = None
    last: Time | None = None
    tenant: Name | None = None
    holder: str = ""
    trouble: str = ""


class SnapshotPolicy(Strict):
    """The last version of a policy."""

    name: Name
    version: Annotated[Count, Field(ge=1)]
    at: Time = 0.0
    author: str = ""
    note: str = ""
    definition: Policy | None = None


class SnapshotDistances(Strict):
    """Distances between nodes as agents measured them: a row a node, null where nothing is known."""

    names: list[NodeName]
    distance: list[list[float | None]]


class SnapshotSource(Strict):
    kind: SourceKind = "dovetail"
    name: str = ""


class SnapshotDocument(Strict):
    format: Literal["dovetail-snapshot"]
    version: int
    taken_at: Time
    source: SnapshotSource = SnapshotSource()
    left_out: list[str] = shared([])
    settings: EngineSettings = EngineSettings()
    topology: Topology | None = None
    distances: list[tuple[NodeName, NodeName, float]] = shared([])
    measured: SnapshotDistances | None = None
    nodes: list[SnapshotNode] = shared([])
    workloads: list[SnapshotWorkload] = shared([])
    terms: list[dict[str, Any]] = shared([])
    reservations: list[SnapshotReservation] = shared([])
    policies: list[SnapshotPolicy] = shared([])
    learned: dict[str, Any] = shared({})
    cursors: dict[str, int] = shared({})
    next_workload: Annotated[Count, Field(ge=1)] = 1
    next_reservation: Annotated[Count, Field(ge=1)] = 1

    @model_validator(mode="after")
    def _is_known(self) -> Self:
        if self.version != VERSION:
            words = f"is {self.version}; this version of Dovetail reads version {VERSION}"
            raise AtField(("version",), f"{words}: take the snapshot again, or use the Dovetail that took it")
        return self

    @model_validator(mode="after")
    def _nodes_differ(self) -> Self:
        names: set[str] = set()
        rows: set[int] = set()
        for index, one in enumerate(self.nodes):
            if one.node.name in names:
                raise AtField(("nodes", index, "node", "name"), f"{one.node.name!r} stands twice; names differ")
            if one.row in rows:
                raise AtField(("nodes", index, "row"), f"{one.row} stands twice; rows differ")
            names.add(one.node.name)
            rows.add(one.row)
        return self

    @model_validator(mode="after")
    def _work_is_sound(self) -> Self:
        nodes = {one.node.name for one in self.nodes}
        ids: set[int] = set()
        live: set[tuple[str, str]] = set()
        for index, work in enumerate(self.workloads):
            key = (work.definition.namespace, work.definition.name)
            if work.id in ids:
                raise AtField(("workloads", index, "id"), f"{work.id} stands twice; ids differ")
            if key in live:
                words = f"{key[1]!r} stands twice in namespace {key[0]!r}; live workloads have different names"
                raise AtField(("workloads", index, "definition", "name"), words)
            if work.terms is not None and work.terms >= len(self.terms):
                words = f"{work.terms} is not a place in the list terms, which has {len(self.terms)}"
                raise AtField(("workloads", index, "terms"), words)
            for place, task in enumerate(work.tasks):
                if task.state.holds_node and task.node not in nodes:
                    words = f"there is no node {task.node!r} in this snapshot"
                    raise AtField(("workloads", index, "tasks", place, "node"), words)
            ids.add(work.id)
            live.add(key)
        return self
