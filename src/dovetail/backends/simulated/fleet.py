"""The nodes that the settings describe.

Pure and deterministic: names, order and labels depend only on the settings, so a restart has the same nodes. Switches
are only labels here; the cluster's topology gives them a meaning.
"""

from collections.abc import Iterator

from dovetail.backends.simulated.settings import LeafSpine, NodeGroup, SimulatedSettings
from dovetail.model.node import Node
from dovetail.model.resources import Capacity
from dovetail.model.workloads.workload import WorkloadKind

REGION = "topology.kubernetes.io/region"
ZONE = "topology.kubernetes.io/zone"
SPINE, LEAF, RACK = "spine", "leaf", "rack"


def fleet(settings: SimulatedSettings, backend: str) -> list[Node]:
    """All nodes of the backend of this name, groups first."""
    nodes: list[Node] = []
    for group in settings.groups:
        nodes.extend(_group(group, backend))
    if settings.leaf_spine is not None:
        nodes.extend(_leaf_spine(settings.leaf_spine, backend))
    return nodes


def _numbers(count: int) -> Iterator[str]:
    """`01` to `40`: padded, so that names sort by number."""
    width = len(str(count))
    return (f"{number:0{width}}" for number in range(1, count + 1))


def _group(group: NodeGroup, backend: str) -> Iterator[Node]:
    for number in _numbers(group.count):
        yield Node(
            name=f"{group.prefix}-{number}",
            backend=backend,
            capacity=group.capacity,
            labels=group.labels,
            taints=group.taints,
            kinds=list(WorkloadKind),
            gpus=group.gpus,
            offer=group.offer,
        )


def _leaf_spine(shape: LeafSpine, backend: str) -> Iterator[Node]:
    gpus = sum(group.count for group in shape.gpus) or shape.gpus_per_node
    capacity = Capacity(cpu=shape.cpu, memory=shape.memory, disk=shape.disk, gpu=gpus, slots=shape.slots)
    for spine_index, spine_number in enumerate(_numbers(shape.spines)):
        spine = f"s{spine_number}"
        zone = f"{shape.region}-z{spine_index * shape.zones // shape.spines + 1}"
        for leaf_number in _numbers(shape.leaves_per_spine):
            leaf = f"{spine}-l{leaf_number}"
            where = shape.labels | {REGION: shape.region, ZONE: zone, SPINE: spine, LEAF: leaf}
            for index, number in enumerate(_numbers(shape.nodes_per_leaf)):
                rack = f"{leaf}-r{index * shape.racks_per_leaf // shape.nodes_per_leaf + 1}"
                yield Node(
                    name=f"{shape.prefix}-{leaf}-n{number}",
                    backend=backend,
                    capacity=capacity,
                    labels=where | {RACK: rack},
                    taints=shape.taints,
                    kinds=list(WorkloadKind),
                    gpus=shape.gpus,
                )
