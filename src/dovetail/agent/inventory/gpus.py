"""GPUs as nodes describe them, from what NVML said. Pure.

GPUs that NVLinks join, directly or through switches, are one island; a GPU without links is its own. Islands of equal
size with equal GPUs are one group (`model.device.Gpus`), so that a slot may be another number than NVML's: tasks get
their GPUs by UUID. A GPU in MIG mode counts as its instances, each an island of its own; without instances it counts
for nothing.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

from dovetail.agent.inventory.nvml import GpuReading, NvmlReading
from dovetail.model.device import Gpus
from dovetail.model.inventory import InventoryGpu, MigInstance

SWITCH = "switch"
#: The NUMA node of the device with this PCI address.
NumaOf = Callable[[str], int | None]


class _Part(NamedTuple):
    """What a task can be given: a GPU, or an instance of one."""

    model: str
    memory_bytes: int
    uuid: str
    address: str


def pci_address(bus_id: str) -> str:
    """As the kernel writes it: NVML says `00000000:00:06.0` for `0000:00:06.0`."""
    domain, _, rest = bus_id.lower().partition(":")
    return f"{domain[-4:]}:{rest}"


def model_name(name: str) -> str:
    """`NVIDIA H100 80GB HBM3` and `NVIDIA A100-SXM4-80GB` are what people call H100 and A100."""
    words = [word for word in re.split(r"[\s-]+", name) if word and word.upper() not in ("NVIDIA", "TESLA", "GPU")]
    if words and words[0] in ("GeForce", "RTX", "GTX", "Quadro", "TITAN"):
        return "-".join(words)
    return words[0] if words else "unknown"


def islands_of(readings: list[GpuReading]) -> list[int]:
    """The island of each GPU, numbered in the order of their first GPUs."""
    numbers = {pci_address(one["address"]): i for i, one in enumerate(readings)}
    parent = list(range(len(readings)))

    def root(i: int) -> int:
        while parent[i] != i:
            i = parent[i]
        return i

    on_switch: int | None = None
    for i, one in enumerate(readings):
        for link in one["links"]:
            other = numbers.get(pci_address(link["address"])) if link["address"] else None
            if link["kind"] == SWITCH:
                on_switch = other = i if on_switch is None else on_switch
            if other is not None:
                low, high = sorted((root(i), root(other)))
                parent[high] = low
    order = {found: number for number, found in enumerate(dict.fromkeys(root(i) for i in range(len(readings))))}
    return [order[root(i)] for i in range(len(readings))]


def inventory_of(reading: NvmlReading) -> list[InventoryGpu]:
    islands = islands_of(reading["gpus"])
    return [_described(one, island) for one, island in zip(reading["gpus"], islands, strict=True)]


def _described(one: GpuReading, island: int) -> InventoryGpu:
    links = Counter(_peer(link["kind"], link["address"]) for link in one["links"])
    return InventoryGpu(
        model=one["name"],
        uuid=one["uuid"],
        address=pci_address(one["address"]),
        memory=one["memory_bytes"],
        island=island,
        links=dict(sorted(links.items())),
        mig=None if one["mig"] is None else "on" if one["mig"] else "off",
        instances=[
            MigInstance(profile=_profile(part["name"]), uuid=part["uuid"], memory=part["memory_bytes"])
            for part in one["instances"]
        ],
    )


def _peer(kind: str, address: str | None) -> str:
    return pci_address(address) if kind == "gpu" and address else kind


def _profile(name: str) -> str:
    """`NVIDIA H200 MIG 1g.18gb` is the profile `1g.18gb`."""
    return name.partition(" MIG ")[2] or name


def gpus_of(reading: NvmlReading, numa_of: NumaOf = lambda _: None) -> list[Gpus]:
    """For `Node.gpus`."""
    islands: dict[tuple[int, int], list[_Part]] = {}
    numbers = islands_of(reading["gpus"])
    for i, (one, island) in enumerate(zip(reading["gpus"], numbers, strict=True)):
        address = pci_address(one["address"])
        if not one["mig"]:
            part = _Part(model_name(one["name"]), one["memory_bytes"], one["uuid"], address)
            islands.setdefault((island, -1), []).append(part)
        for j, instance in enumerate(one["instances"]):
            model = f"{model_name(one['name'])}-{_profile(instance['name'])}".replace(" ", "-")
            islands[i, j] = [_Part(model, instance["memory_bytes"], instance["uuid"], address)]
    groups: dict[tuple[str, int, int], list[list[_Part]]] = {}
    for (_, instance_number), parts in islands.items():
        for same in _by_kind(parts).values():
            size = len(same) if instance_number < 0 else 1
            groups.setdefault((same[0].model, same[0].memory_bytes, size), []).append(same)
    return [_group(model, memory, found, numa_of) for (model, memory, _), found in groups.items()]


def _by_kind(parts: list[_Part]) -> Mapping[tuple[str, int], list[_Part]]:
    found: dict[tuple[str, int], list[_Part]] = {}
    for part in parts:
        found.setdefault((part.model, part.memory_bytes), []).append(part)
    return found


def _group(model: str, memory_bytes: int, islands: list[list[_Part]], numa_of: NumaOf) -> Gpus:
    parts = [part for island in islands for part in island]
    numas = [numa_of(part.address) for part in parts]
    addresses = [part.address for part in parts]
    return Gpus(
        count=len(parts),
        model=model,
        memory=memory_bytes,
        islands=len(islands),
        numa=[numa for numa in numas if numa is not None] if None not in numas else [],
        addresses=addresses if len(set(addresses)) == len(addresses) else [],
        uuids=[part.uuid for part in parts],
    )
