"""The GPUs of a node as single devices.

A node lists its GPUs in groups of equal ones (`Gpus`); `devices_of` expands them. A device's index in that order is its
slot: the number used in allocations, in accounting and by programs. The cluster tracks which task has which device.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, NamedTuple, Self

from pydantic import AfterValidator, Field, model_validator

from dovetail.model.text.listing import count, ranges
from dovetail.model.text.quantity import Bytes, Count, show_bytes
from dovetail.model.text.strict import AtField, Strict, is_word, shared, shown, text_format

#: Thousandths of one device.
WHOLE = 1000
MAX_DEVICES = 1024
MAX_ISLANDS = 256
MAX_MODEL = 100


def check_model(value: str) -> str:
    if not is_word(value, MAX_MODEL):
        words = "is not a GPU model; write it without spaces, at most 100 characters, such as H100"
        raise ValueError(f"{shown(value)} {words}")
    return value


ModelName = Annotated[str, AfterValidator(check_model), text_format("gpu-model", least=1, most=MAX_MODEL)]
DeviceName = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\s,]+$")]
NumaNode = Annotated[Count, Field(le=100_000)]


class Device(NamedTuple):
    """One GPU. An empty model, or 0 bytes of memory: unknown."""

    model: str = ""
    memory: int = 0
    island: int = 0
    numa: int | None = None
    address: str | None = None
    uuid: str | None = None


class Gpus(Strict):
    """`count` equal GPUs in `islands` of equal size (joined by NVLink or similar). `numa`, `addresses` and `uuids`, if
    given, have one entry for each GPU, in order."""

    count: Annotated[Count, Field(ge=1, le=MAX_DEVICES)]
    """How many equal GPUs."""
    model: ModelName | None = None
    """Their model, a word without spaces such as H100; left out: unknown."""
    memory: Bytes = 0
    """Memory of each GPU; 0: unknown."""
    islands: Annotated[Count, Field(ge=1, le=MAX_ISLANDS)] = 1
    """The number of islands of equal size (groups joined by NVLink or similar)."""
    numa: list[NumaNode] = shared([])
    """The NUMA node of each GPU, in order."""
    addresses: list[DeviceName] = shared([])
    """The PCI address of each GPU, in order."""
    uuids: list[DeviceName] = shared([])
    """The UUID of each GPU, in order."""

    @model_validator(mode="after")
    def _check_consistent(self) -> Self:
        if self.count % self.islands:
            words = f"{self.count} GPUs cannot be divided evenly into {self.islands} islands; write several groups"
            raise AtField(("islands",), words)
        for name, given in (("numa", self.numa), ("addresses", self.addresses), ("uuids", self.uuids)):
            if given and len(given) != self.count:
                raise AtField((name,), f"has {len(given)} entries for {self.count} GPUs; give one for each, or none")
        for name, given in (("addresses", self.addresses), ("uuids", self.uuids)):
            if len(set(given)) != len(given):
                raise AtField((name,), "names a GPU twice; each has its own")
        return self


def devices_of(groups: Sequence[Gpus], count: int) -> tuple[Device, ...]:
    """The devices by slot; islands are numbered across groups. Without groups: `count` devices of unknown model."""
    if not groups:
        return (Device(),) * count
    found: list[Device] = []
    first = 0
    for group in groups:
        size = group.count // group.islands
        found += [_device(group, i, first + i // size) for i in range(group.count)]
        first += group.islands
    return tuple(found)


def _device(group: Gpus, index: int, island: int) -> Device:
    return Device(
        model=group.model or "",
        memory=group.memory,
        island=island,
        numa=group.numa[index] if group.numa else None,
        address=group.addresses[index] if group.addresses else None,
        uuid=group.uuids[index] if group.uuids else None,
    )


def describe_slots(slots: Sequence[int], node: str) -> str:
    """`gpu 3, 4 of n1`."""
    return f"gpu {_ranges(tuple(slots))} of {node}"


@lru_cache(maxsize=1024)  # written for every task with a GPU, and there are few different ones
def _ranges(slots: tuple[int, ...]) -> str:
    return ranges(slots)


def describe_gpus(groups: Sequence[Gpus], number: int) -> str:
    """What a node has: `8 x H100 (80GiB) in 2 islands`, `2 GPUs of unknown model`, `no GPU`."""
    if not groups:
        return f"{count(number, 'GPU')} of unknown model" if number else "no GPU"
    parts = []
    for group in groups:
        memory = f" ({show_bytes(group.memory)})" if group.memory else ""
        islands = f" in {group.islands} islands" if group.islands > 1 else ""
        parts.append(f"{group.count} x {group.model or 'unknown model'}{memory}{islands}")
    return " and ".join(parts)
