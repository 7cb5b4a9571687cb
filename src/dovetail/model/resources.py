"""Amounts of resources: requests of tasks, limits, and capacities of nodes.

Internally an amount is a whole number of the resource's smallest unit: millicores, bytes, milli-GPUs, one slot, one
piece of an extended resource. Only `amounts()` converts user input to these numbers.
"""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator

from dovetail.model.device import WHOLE, ModelName
from dovetail.model.text.amounts import show_amount as show_amount
from dovetail.model.text.quantity import (
    Bytes,
    Cores,
    Count,
    GpuAmount,
    format_bytes,
    format_cores,
    format_gpus,
)
from dovetail.model.text.strict import AtField, Strict, closest, shared, shown

CPU, MEMORY, DISK, GPU, SLOTS = "cpu", "memory", "disk", "gpu", "slots"
CORE_RESOURCES = (CPU, MEMORY, DISK, GPU, SLOTS)
DEFAULT_NODE_SLOTS = 110

#: `nvidia.com/mig-1g.5gb`: a domain, a slash, a name, 253 characters at most.
EXTENDED_NAME = re.compile(r"(?=.{3,253}\Z)[a-z0-9]+(?:[.-][a-z0-9]+)*/[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*", re.ASCII)

Amounts = dict[str, int]


def _extended_name(*more: str) -> AfterValidator:
    """Names of extended resources beside the fields, which are the usual ones and these."""
    fields = (CPU, MEMORY, DISK, GPU, *more)

    def checked(key: str) -> str:
        if EXTENDED_NAME.fullmatch(key):
            return key
        words = f"unknown resource {shown(key)}.{closest(key, fields)} Known: {', '.join(fields)}"
        raise ValueError(f"{words}; an extended resource is written vendor.com/name")

    return AfterValidator(checked)


class _WithExtended(Strict):
    """Extra fields must be extended resources, written `vendor.com/name`."""

    model_config = ConfigDict(extra="allow", frozen=True)

    cpu: Cores = 0.0
    """Cores."""
    memory: Bytes = 0
    """Memory."""
    disk: Bytes = 0
    """Disk."""
    gpu: GpuAmount = 0
    """Whole GPUs, or a share of one."""

    def amounts(self) -> Amounts:
        """Non-zero amounts in smallest units."""
        found: Amounts = {}
        if self.cpu:
            found[CPU] = round(self.cpu * 1000)
        if self.memory:
            found[MEMORY] = self.memory
        if self.disk:
            found[DISK] = self.disk
        if self.gpu:
            found[GPU] = round(self.gpu * WHOLE)
        if self.__pydantic_extra__:
            found.update({name: amount for name, amount in self.__pydantic_extra__.items() if amount})
        return found


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


class ResourceRequest(_WithExtended):
    """What one task requests. Every task also takes one slot of its node.

    `gpu` is a number of whole GPUs, or a share of one. The other fields restrict them: the acceptable models (best
    first), the memory of each, and whether all must be in one island.
    """

    __pydantic_extra__: dict[Annotated[str, _extended_name("gpu_model", "gpu_memory", "gpu_island")], Count]

    gpu_model: Annotated[
        list[ModelName],
        Field(max_length=32),
        BeforeValidator(_as_list, json_schema_input_type=list[ModelName] | ModelName),
    ] = shared([])
    gpu_memory: Bytes = 0
    gpu_island: Literal["same"] | None = None

    @model_validator(mode="after")
    def _check_gpus(self) -> Self:
        for name in ("gpu_model", "gpu_memory", "gpu_island"):
            if getattr(self, name) and not self.gpu:
                raise AtField((name,), "says which GPU, but none is asked for; write gpu: 1, or a share as gpu: 0.5")
        if len(set(self.gpu_model)) != len(self.gpu_model):
            raise AtField(("gpu_model",), "names a model twice; the first is the best, each stands once")
        return self

    def amounts(self) -> Amounts:
        found = super().amounts()
        found[SLOTS] = 1
        return found


class Capacity(_WithExtended):
    """What a node has."""

    __pydantic_extra__: dict[Annotated[str, _extended_name(SLOTS)], Count]

    gpu: Count = 0
    """Whole GPUs."""
    slots: Count = DEFAULT_NODE_SLOTS
    """The most tasks at the same time."""

    def amounts(self) -> Amounts:
        return super().amounts() | ({SLOTS: self.slots} if self.slots else {})


class Limits(Strict):
    """The maximum usage of one task, enforced by the backend."""

    cpu: Cores | None = None
    memory: Bytes | None = None


def capacity_of(amounts: Amounts) -> Capacity:
    """The inverse of `Capacity.amounts`."""
    fields: dict[str, object] = {SLOTS: 0}
    for name, amount in amounts.items():
        fields[name] = amount / 1000 if name == CPU else amount // 1000 if name == GPU else amount
    return Capacity.model_validate(fields)


def write_amount(resource: str, amount: int) -> str | int:
    """An amount as a user would write it, exactly."""
    if resource == CPU:
        return format_cores(amount / 1000)
    if resource in (MEMORY, DISK):
        return format_bytes(amount)
    return format_gpus(amount / WHOLE) if resource == GPU else amount
