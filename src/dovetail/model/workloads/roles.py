"""Roles: parts of one workload with different requests that start together, such as a launcher and its workers.

A workload with roles is read as one workload for each role; they form a group (`gang.group`). Guarantees: a role
inherits what it does not set; ranks follow the order in which the roles are written.
"""

from typing import Annotated

from pydantic import Field

from dovetail.model.resources import Limits, ResourceRequest
from dovetail.model.text.quantity import Count
from dovetail.model.text.strict import Name, Strict
from dovetail.model.workloads.constraint import Constraint
from dovetail.model.workloads.limits import MAX_CONSTRAINTS, MAX_LIST
from dovetail.model.workloads.selection import Labels, NodeAffinity, Toleration

#: Labels for the group and the role of a task.
GROUP_LABEL, ROLE_LABEL = "dovetail/group", "dovetail/role"
#: A label for the service that a task is a replica of. Affinity, spread and traffic know the task by that name.
SERVICE_LABEL = "dovetail/service"
MAX_ROLES = 20


class Role(Strict):
    """What differs for some of a workload's tasks."""

    name: Name
    replicas: Annotated[Count, Field(ge=1)] = 1
    labels: Labels | None = None
    resources: ResourceRequest | None = None
    limits: Limits | None = None
    node_selector: Labels | None = None
    node_affinity: NodeAffinity | None = None
    tolerations: Annotated[list[Toleration], Field(max_length=MAX_LIST)] | None = None
    constraints: Annotated[list[Constraint], Field(max_length=MAX_CONSTRAINTS)] | None = None
    retries: Annotated[Count, Field(le=100)] | None = None
