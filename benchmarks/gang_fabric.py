"""GPU clusters in spines, leaves and racks, and the jobs that run on them: from one GPU to gangs of 64 whole nodes.

Sizes are drawn much as in the Philly trace (93 % of its jobs have one GPU, nearly all others a power of two up to 128),
with the tail drawn out to gangs of 64 nodes, which is what larger clusters run; without that, hardly any decision would
be about the network.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dovetail.model.node import Node
from dovetail.model.workloads.workload import Workload

GPUS = 8
PROFILE = "gpu_topology"  # which keeps small jobs off empty nodes: else no gang would find any
#: GPUs of a job, and its share of a thousand jobs.
SIZES = ((1, 800), (2, 60), (4, 60), (8, 40), (16, 16), (32, 10), (64, 6), (128, 4), (256, 2), (512, 2))


@dataclass(frozen=True)
class Fabric:
    """So many nodes to a rack, racks to a leaf, leaves to a spine."""

    rack_nodes: int
    leaf_racks: int
    spine_leaves: int

    def nodes(self, count: int) -> Iterator[Node]:
        capacity = {"cpu": 128, "memory": "1024GiB", "gpu": GPUS}
        for number in range(count):
            rack = number // self.rack_nodes
            leaf = rack // self.leaf_racks
            where = {"spine": f"s{leaf // self.spine_leaves}", "leaf": f"l{leaf}", "rack": f"r{rack}"}
            yield Node.model_validate({"name": f"gpu-{number:05d}", "capacity": capacity, "labels": where})


def gang(name: str, nodes: int, **topology: Any) -> Workload:
    """One task a node, with all its GPUs."""
    asked = {"cpu": 64, "memory": "512GiB", "gpu": GPUS}
    fields = {"name": name, "replicas": nodes, "gang": {"min": nodes}, "resources": asked, "topology": topology}
    return Workload.model_validate(fields | {"profile": PROFILE})


def mixed_jobs(count: int, seed: int = 5) -> Iterator[Workload]:
    chance = random.Random(seed)
    sizes, shares = zip(*SIZES, strict=True)
    for number, gpus in enumerate(chance.choices(sizes, shares, k=count)):
        if gpus > GPUS:
            yield gang(f"job-{number}", gpus // GPUS, required="spine", preferred="leaf")
        else:
            asked = {"cpu": 4 * gpus, "memory": f"{32 * gpus}GiB", "gpu": gpus}
            yield Workload.model_validate({"name": f"job-{number}", "resources": asked, "profile": PROFILE})
