"""Synthetic clusters and work: heterogeneous, seeded, the same on every machine.

Six kinds of machines in four zones with labels and taints as real fleets have them, and tasks that each want something
else: their own amounts, a selector, a toleration and two weighted preferences. Selectors differ in how many nodes they
leave over (a quarter to most), so that decisions on few and on many candidates are both measured.
"""

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from dovetail.model.node import Node
from dovetail.model.resources import Capacity
from dovetail.model.workloads.selection import Taint
from dovetail.model.workloads.workload import Workload

ZONES = ("north", "south", "east", "west")
DISKS = ("nvme", "ssd", "hdd")
RACK_NODES = 40


class Machine(NamedTuple):
    """A model a fleet has many of; `share` of a hundred nodes."""

    pool: str
    share: int
    cpu: int
    memory_gib: int
    disk_gb: int
    gpu: int = 0


MACHINES = (
    Machine("small", 25, 16, 64, 500),
    Machine("general", 30, 32, 128, 1000),
    Machine("compute", 15, 96, 192, 1000),
    Machine("memory", 10, 64, 512, 1000),
    Machine("storage", 8, 32, 128, 16_000),
    Machine("gpu", 12, 128, 1024, 8000, gpu=8),
)
DEDICATED = Taint(key="dedicated", value="gpu", effect="NoSchedule")
OLD = Taint(key="retiring", value="", effect="PreferNoSchedule")


def nodes(count: int, seed: int = 1) -> Iterator[Node]:
    chance = random.Random(seed)
    capacities = {m.pool: _capacity(m) for m in MACHINES}
    for i, machine in enumerate(chance.choices(MACHINES, [m.share for m in MACHINES], k=count)):
        taints = [DEDICATED] if machine.gpu else []
        if chance.random() < 0.05:
            taints.append(OLD)
        yield Node(
            name=f"node-{i:06d}",
            capacity=capacities[machine.pool],
            labels={
                "pool": machine.pool,
                "zone": ZONES[i % len(ZONES)],
                "rack": f"rack-{i // RACK_NODES}",
                "arch": "arm64" if chance.random() < 0.25 else "amd64",
                "disk": chance.choice(DISKS),
            },
            taints=taints,
        )


def _capacity(machine: Machine) -> Capacity:
    return Capacity(cpu=machine.cpu, memory=machine.memory_gib * 2**30, disk=machine.disk_gb * 10**9, gpu=machine.gpu)


def one_shape(replicas: int) -> Workload:
    return _workload({"name": "same", "replicas": replicas, "resources": {"cpu": "500m", "memory": "1GiB"}})


def different_shapes(count: int, seed: int = 2) -> Iterator[Workload]:
    """Single-task workloads; no two want the same."""
    chance = random.Random(seed)
    for i in range(count):
        yield _workload(
            {
                "name": f"task-{seed}-{i}",
                "resources": {
                    "cpu": f"{chance.randint(100, 4000)}m",
                    # The running number in kibibytes keeps any two apart, whatever chance gives.
                    "memory": f"{chance.randint(100, 9000) * 1024 * 1024 + (seed * 100_000 + i) * 1024}",
                    "disk": f"{chance.randint(1, 50)}GB",
                },
                "node_selector": chance.choice(
                    ({"zone": chance.choice(ZONES)}, {"arch": "amd64"}, {"disk": chance.choice(DISKS)})
                ),
                "tolerations": [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}],
                "node_affinity": {
                    "preferred": [
                        _wish(chance, "disk", "In", ["nvme", "ssd"]),
                        _wish(chance, "pool", "NotIn", [chance.choice(MACHINES).pool]),
                    ]
                },
            }
        )


def _wish(chance: random.Random, key: str, operator: str, values: list[str]) -> dict[str, Any]:
    return {"weight": chance.randint(1, 100), "match": [{"key": key, "operator": operator, "values": values}]}


def _workload(fields: dict[str, Any]) -> Workload:
    return Workload.model_validate(fields)
