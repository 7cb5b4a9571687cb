"""Small clusters whose tasks know one another: workloads by their fields, placed with their identities."""

from dataclasses import dataclass, field
from typing import Any

from tests.unit.placement.scene import cluster_of, masked

from dovetail.cluster.state import Cluster
from dovetail.cluster.views.view import View
from dovetail.engine.state.terms import wants_of
from dovetail.model.reason import Refused
from dovetail.model.requests.shaping import shape_of
from dovetail.model.requests.task_identity import identity_of
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload
from dovetail.placement.contract import Request
from dovetail.placement.filters.constraints import is_non_local
from dovetail.placement.registry import build_filter


@dataclass
class Society:
    cluster: Cluster
    placed: int = field(default=0)

    @staticmethod
    def of(**level: str) -> "Society":
        """`Society.of(zone="aab-")`: a node for each letter, in that zone; a dash: without the label."""
        ((key, values),) = level.items()
        return Society(cluster_of(*[{"labels": {} if value == "-" else {key: value}} for value in values]))

    def ask(self, name: str = "w", scope: dict[str, str] | None = None, **fields: Any) -> Request:
        spec = Workload.model_validate({"name": name, **fields})
        shape = shape_of(spec, "default", "tried", wants_of(spec.constraints))
        labels = tuple(sorted(spec.labels.items()))
        identity = identity_of(spec.namespace, spec.name, spec.service, labels, shape.workload_affinity)
        needs = {name: float(amount) for name, amount in shape.amounts}
        repelled = self.cluster.placements.selector_counts.repelled(identity)
        column, within = self.cluster.resources.vector(needs), tuple((scope or {}).items())
        non_local = bool(repelled) or is_non_local(shape)
        return Request(shape, column, needs, within, identity=identity, repelled=repelled, non_local=non_local)

    def place(self, row: int, name: str = "w", **fields: Any) -> TaskId:
        self.placed += 1
        task, request = TaskId(self.placed, 0), self.ask(name, **fields)
        self.cluster.place(task, row, request.column, request.shape.service_key, identity=request.identity)
        return task

    def allowed(self, filter_name: str, name: str = "w", scope: dict[str, str] | None = None, **fields: Any) -> str:
        """One letter a node: x where it may go, . where not."""
        return "".join(
            "x" if one else "." for one in masked(filter_name, self.cluster, self.ask(name, scope, **fields))
        )

    def refused(self, filter_name: str, row: int, name: str = "w", **fields: Any) -> Refused:
        return build_filter(filter_name, {}).refuse(self.ask(name, **fields), View(self.cluster), row)
