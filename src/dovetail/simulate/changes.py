"""What is different from a snapshot: other nodes, other work, failures, another profile.

One model for `dovetail simulate`, for `dovetail what-if` and for the body of `POST /what-if`.
"""

from typing import Annotated, Self

from pydantic import Field, model_validator

from dovetail.model.device import MAX_DEVICES, Gpus
from dovetail.model.resources import Capacity
from dovetail.model.text.quantity import Count, Duration
from dovetail.model.text.strict import NodeName, Strict, shared
from dovetail.model.workloads.selection import Labels, Taint
from dovetail.model.workloads.workload import Workload
from dovetail.placement.pipeline.profiles import ProfileSettings

MOST_ADDED = 100_000
MOST_NAMED = 10_000

Prefix = Annotated[NodeName, Field(max_length=70)]


class AddedNodes(Strict):
    """`count` more nodes, equal to one that is there (`like`), or with this capacity."""

    count: Annotated[Count, Field(ge=1, le=MOST_ADDED)] = 1
    like: NodeName | None = None
    capacity: Capacity | None = None
    gpus: Annotated[list[Gpus], Field(max_length=MAX_DEVICES)] = shared([])
    labels: Labels = shared({})
    taints: Annotated[list[Taint], Field(max_length=100)] = shared([])
    prefix: Prefix = "added"

    @model_validator(mode="after")
    def _one_or_the_other(self) -> Self:
        if (self.like is None) == (self.capacity is None):
            raise ValueError("needs either like: NODE, or capacity: {cpu: 16, memory: 64GiB}")
        return self


class PlannedFailure(Strict):
    """A node, or everything in a domain such as a leaf, fails; it is back after `repair`, or never."""

    name: Annotated[str, Field(min_length=1, max_length=253)]
    at: Duration = 0.0
    repair: Duration | None = None


class ClusterChanges(Strict):
    """`workloads`: new ones, or instead of the live ones of the same names, which keep their place in the queue.
    `cancel`: by id, name or NAMESPACE/NAME. `profile`: the default one, by name or defined here."""

    workloads: Annotated[list[Workload], Field(max_length=MOST_NAMED)] = shared([])
    cancel: Annotated[list[str | int], Field(max_length=MOST_NAMED)] = shared([])
    remove_nodes: Annotated[list[NodeName], Field(max_length=MOST_NAMED)] = shared([])
    add_nodes: Annotated[list[AddedNodes], Field(max_length=100)] = shared([])
    fail: Annotated[list[PlannedFailure], Field(max_length=1000)] = shared([])
    profile: str | ProfileSettings | None = None

    @property
    def empty(self) -> bool:
        return not any(getattr(self, name) for name in ClusterChanges.model_fields)
