"""A node: anywhere a task can run."""

from typing import Annotated

from pydantic import Field

from dovetail.model.resources import Capacity
from dovetail.model.selection import Labels, Taint
from dovetail.model.strict import Name, Strict, shared
from dovetail.model.workload import Kind


class Node(Strict):
    """What is known of a node when it joins. Cordon, health and use are state, not definition."""

    name: Name
    backend: Name = "registered"
    capacity: Capacity = shared(Capacity())
    labels: Labels = shared({})
    taints: Annotated[list[Taint], Field(max_length=100)] = shared([])
    kinds: list[Kind] = shared(list(Kind))
