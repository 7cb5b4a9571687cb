"""A node: anywhere a task can run."""

from enum import StrEnum

from pydantic import Field

from dovetail.model.resources import Capacity
from dovetail.model.selection import Labels, Taint
from dovetail.model.strict import Name, Strict
from dovetail.model.workload import Kind


class Node(Strict):
    """What is known of a node when it joins. Cordon, health and use are state, not definition."""

    name: Name
    backend: Name = "registered"
    capacity: Capacity = Capacity()
    labels: Labels = {}
    taints: list[Taint] = Field(default=[], max_length=100)
    kinds: list[Kind] = list(Kind)


class NodeHealth(StrEnum):
    ONLINE = "online"
    OFFLINE = "offline"
