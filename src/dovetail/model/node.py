"""A node: anywhere a task can run."""

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import Field, model_validator

from dovetail.model.device import MAX_DEVICES, Gpus
from dovetail.model.inventory import MachineInventory
from dovetail.model.offer import Offer
from dovetail.model.resources import Capacity
from dovetail.model.text.strict import AtField, Host, Name, NodeName, Strict, shared
from dovetail.model.workloads.selection import NodeLabels, Taint
from dovetail.model.workloads.workload import WorkloadKind


def counting_gpus(capacity: Capacity, gpus: Sequence[Gpus]) -> Capacity:
    """The capacity of a node with these GPUs. Raises AtField if the given capacity contradicts them."""
    described, given = sum(group.count for group in gpus), capacity.gpu
    if max(described, given) > MAX_DEVICES:
        raise AtField(("capacity", "gpu"), f"{max(described, given)} GPUs; a node has at most {MAX_DEVICES}")
    if not gpus or given == described:
        return capacity
    if "gpu" in capacity.model_fields_set:
        words = f"is {given}, but gpus describes {described}; leave capacity.gpu out or make the two agree"
        raise AtField(("capacity", "gpu"), words)
    return capacity.model_copy(update={"gpu": described})


class Node(Strict):
    """A node's definition. Cordon, health and usage are state, not definition.

    `gpus` lists its GPUs, one group for each sort; `capacity.gpu` is then their number and may be left out.
    `address`: where its services are reached. `inventory`: what its agent found in the machine; placement does not read
    it. `offer`: what using it costs; without one it costs nothing more.
    """

    name: NodeName
    backend: Name = "registered"
    address: Host | None = None
    capacity: Capacity = shared(Capacity())
    labels: NodeLabels = shared({})
    taints: Annotated[list[Taint], Field(max_length=100)] = shared([])
    kinds: list[WorkloadKind] = shared(list(WorkloadKind))
    gpus: Annotated[list[Gpus], Field(max_length=MAX_DEVICES)] = shared([])
    inventory: MachineInventory | None = None
    offer: Offer | None = None

    @model_validator(mode="after")
    def _check_gpus(self) -> Self:
        counted = counting_gpus(self.capacity, self.gpus)
        if counted is not self.capacity:
            self.__dict__["capacity"] = counted  # the model is frozen, but nobody has seen the node yet
        return self
