"""What the simulated backend simulates: its nodes, the run times of attempts, and failures.

Guarantees: valid settings describe between one and `MAX_NODES` nodes with different names. All durations are virtual:
`speed` is the number of virtual seconds per real second. `RehearsalSettings` is the part about attempts, for a
simulator with its own nodes and clock.
"""

from typing import Annotated, Self

from pydantic import Field, model_validator

from dovetail.backends.pricing import Priced
from dovetail.model.device import MAX_DEVICES, Gpus
from dovetail.model.node import counting_gpus
from dovetail.model.offer import Offer
from dovetail.model.resources import DEFAULT_NODE_SLOTS, Capacity
from dovetail.model.text.quantity import Bytes, Cores, Count, Duration
from dovetail.model.text.strict import AtField, Name, NodeName, Strict
from dovetail.model.workloads.selection import Labels, Taint

MAX_NODES = 1_000_000
MAX_SPEED = 1e6

Positive = Annotated[Count, Field(ge=1, le=MAX_NODES)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Prefix = Annotated[NodeName, Field(max_length=70)]  # leaves space for numbers within the length of a name


class NodeGroup(Strict):
    """`count` equal nodes called `prefix-1`, `prefix-2`, … (numbers padded so that names sort)."""

    prefix: Prefix = "sim"
    """The names begin with it: `sim-1`, `sim-2`, …"""
    count: Positive
    """How many nodes."""
    capacity: Capacity = Capacity(cpu=16, memory=64 * 2**30, disk=500 * 2**30)
    """What each node has."""
    labels: Labels = {}
    """Labels of each node."""
    taints: list[Taint] = Field(default=[], max_length=100)
    """Taints of each node."""
    gpus: list[Gpus] = Field(default=[], max_length=MAX_DEVICES)
    """GPUs of each node, one by one (`docs/gpus.md`)."""
    offer: Offer | None = None
    """What each node costs (`docs/market.md`). With `running: false`, `count` is how many could be launched at any
    time: a node is launched when work is bound to it, another one is offered in its place, and it is given back when
    idle."""

    @model_validator(mode="after")
    def _check_gpus(self) -> Self:
        counting_gpus(self.capacity, self.gpus)
        return self


class LeafSpine(Strict):
    """A GPU cluster: nodes under leaf switches under spine switches, with labels for their place.

    Spines are divided among the zones in order, and the nodes of a leaf among its racks.
    """

    prefix: Prefix = "sim"
    """The names begin with it: `sim-s1-l1-n1`."""
    spines: Positive = 5
    """How many spine switches."""
    leaves_per_spine: Positive = 5
    """Leaf switches under each spine."""
    nodes_per_leaf: Positive = 40
    """Nodes under each leaf."""
    racks_per_leaf: Positive = 1
    """Racks that the nodes of a leaf are divided among."""
    gpus_per_node: Annotated[Count, Field(le=MAX_DEVICES)] = 8
    """GPUs of each node, of unknown model."""
    gpus: list[Gpus] = Field(default=[], max_length=MAX_DEVICES)
    """GPUs of each node, one by one, instead of `gpus_per_node`."""
    cpu: Cores = 128
    """Cores of each node."""
    memory: Bytes = 2**40
    """Memory of each node."""
    disk: Bytes = 8 * 2**40
    """Disk of each node."""
    slots: Count = DEFAULT_NODE_SLOTS
    """The most tasks on each node."""
    region: Annotated[str, Field(min_length=1, max_length=100)] = "sim-1"
    """The label `topology.kubernetes.io/region` of all nodes."""
    zones: Positive = 1
    """Zones that the spines are divided among."""
    labels: Labels = {}
    """More labels of each node."""
    taints: list[Taint] = Field(default=[], max_length=100)
    """Taints of each node."""

    @property
    def nodes(self) -> int:
        return self.spines * self.leaves_per_spine * self.nodes_per_leaf

    @model_validator(mode="after")
    def _check_gpus(self) -> Self:
        described = sum(group.count for group in self.gpus)
        if self.gpus and "gpus_per_node" in self.model_fields_set and self.gpus_per_node != described:
            words = f"is {self.gpus_per_node}, but gpus describes {described}; leave gpus_per_node out"
            raise AtField(("gpus_per_node",), words)
        return self

    @model_validator(mode="after")
    def _check_domains(self) -> Self:
        if self.zones > self.spines:
            raise ValueError(f"{self.zones} zones cannot share {self.spines} spines; use at most one zone a spine")
        if self.racks_per_leaf > self.nodes_per_leaf:
            raise ValueError(
                f"{self.racks_per_leaf} racks cannot share {self.nodes_per_leaf} nodes a leaf; "
                "use at most one rack a node"
            )
        return self


class RunTime(Strict):
    """How long an attempt runs: lognormal."""

    median: Duration = 60.0
    """Half of the attempts take less."""
    sigma: Annotated[float, Field(ge=0, le=5, allow_inf_nan=False)] = 0.5
    """The spread: two thirds of the attempts lie within a factor e^sigma of the median."""


class NodeFailureSettings(Strict):
    """Nodes that fail at random times, and come back."""

    mean_time_between: Annotated[Duration, Field(ge=1)]
    """The mean time until a node fails and loses its tasks."""
    repair_time: Annotated[Duration, Field(ge=1)] = 600.0
    """How long until it is back."""


class Observation(Strict):
    """The measured use of each node, at this interval: its tasks' requests times a random share."""

    every: Annotated[Duration, Field(ge=1)] = 15.0
    """How often the use of nodes is reported."""
    least_share: Share = 0.3
    """The least that a task uses of its request, 0 to 1."""
    most_share: Share = 0.9
    """The most that a task uses of its request, 0 to 1."""

    @model_validator(mode="after")
    def _check_shares(self) -> Self:
        if self.least_share > self.most_share:
            raise ValueError(f"least_share {self.least_share} is above most_share {self.most_share}")
        return self


class RehearsalSettings(Strict):
    """The fate of attempts. A workload's `run.simulate` overrides it."""

    run_time: RunTime | None = RunTime()
    """How long attempts run; `null` is the same as `forever`."""
    forever: bool = False
    """Attempts run until they are stopped."""
    bind_delay: Duration = 0.0
    """How long a bind takes to be answered."""
    start_delay: Duration = 0.0
    """How long a task takes to start."""
    failure_rate: Share = 0.0
    """The share of attempts that end with exit code 1, 0 to 1."""


class SimulatedSettings(RehearsalSettings, Priced):
    groups: list[NodeGroup] = Field(default=[], max_length=1000)
    """Groups of equal nodes."""
    leaf_spine: LeafSpine | None = None
    """A GPU cluster with leaf and spine switches."""
    seed: int = 0
    """Start of the random numbers."""
    node_failures: NodeFailureSettings | None = None
    """Nodes that fail now and then; left out: none."""
    observe: Observation | None = None
    """Reports measured use; left out: none."""
    speed: Annotated[float, Field(gt=0, le=MAX_SPEED, allow_inf_nan=False)] = 1.0
    """Virtual seconds in one real second."""
    vms_of_others: list[Name] = Field(default=[], max_length=100)
    """VMs that others made, on the first node, for trying out adoption: each with one core and 1 GiB of memory."""
    migrates: bool = False
    """Running tasks are moved to other nodes without a restart, as VMs are; else they are stopped and started there."""

    @model_validator(mode="after")
    def _check_nodes(self) -> Self:
        total = sum(group.count for group in self.groups) + (self.leaf_spine.nodes if self.leaf_spine else 0)
        if not total:
            raise ValueError("describes no node; give groups: [{prefix: sim, count: 10}] or leaf_spine: {}")
        if total > MAX_NODES:
            raise ValueError(f"describes {total} nodes; the most is {MAX_NODES}")
        prefixes = [group.prefix for group in self.groups]
        for prefix in prefixes:
            if prefixes.count(prefix) > 1:
                raise ValueError(f"two groups have the prefix {prefix!r}; their nodes would share names")
        return self
