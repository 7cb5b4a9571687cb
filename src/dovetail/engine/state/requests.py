"""A cache of requests: shapes compiled against the resource table of this cluster."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace

from dovetail.cluster.state import Cluster
from dovetail.engine.settings import SchedulerSettings
from dovetail.engine.state.workload_mix import WorkloadMix
from dovetail.model.requests.shape import Shape
from dovetail.model.requests.task_identity import TaskIdentity
from dovetail.placement.contract import Request
from dovetail.placement.filters.constraints import is_non_local

_KEPT = 10_000
#: The effort of a shape that is new, in decisions for a shape that is known; and how much of a constraint is one more.
_NEW_SHAPE, _CONSTRAINT_CHARS = 8, 50


class RequestCache:
    def __init__(self, cluster: Cluster, mix: WorkloadMix, schedulers: Mapping[str, SchedulerSettings]) -> None:
        self._cluster, self._mix = cluster, mix
        self._scopes = {name: tuple(sorted(one.node_selector.items())) for name, one in schedulers.items()}
        self._requests: OrderedDict[Shape, Request] = OrderedDict()
        self.effort = 0  # spent on shapes that were new

    def of_shape(self, shape: Shape) -> Request:
        self._mix.prepare()
        found = self._requests.get(shape)
        if found is None or len(found.column) < len(self._cluster.resources.names):
            needs = {name: float(amount) for name, amount in shape.amounts}
            column, scope = self._cluster.resources.vector(needs), self._scopes[shape.scheduler]
            found = Request(shape, column, needs, scope, outlook=self._mix.outlook, non_local=is_non_local(shape))
            self._requests[shape] = found
            self.effort += _NEW_SHAPE + sum(len(one.text) for one in shape.wants) // _CONSTRAINT_CHARS
            if len(self._requests) > _KEPT:
                self._requests.popitem(last=False)
        return found

    def of_task(self, shape: Shape, identity: TaskIdentity) -> Request:
        """The request of a task with this identity: placed tasks may repel it or exchange traffic with it."""
        request = self.of_shape(shape)
        placements = self._cluster.placements
        repelled = placements.selector_counts.repelled(identity)
        senders = placements.declared_traffic.senders_to(identity)
        if not repelled and not senders and not request.non_local:
            return request
        return replace(request, identity=identity, repelled=repelled, senders=senders, non_local=True)

    def forget_wider(self, count: int) -> None:
        """Drop what was compiled against more resources than these."""
        for shape in [shape for shape, request in self._requests.items() if len(request.column) > count]:
            del self._requests[shape]
