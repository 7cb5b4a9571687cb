"""Which devices there are, and from which nodes they can be had.

Fed with ResourceSlices and the labels of nodes. Guarantees: what a node can have is worked out once and kept until a
slice of one of its pools, or its own labels, change; the same slices and nodes give the same answer in the same order,
by driver and pool. A change costs what it concerns: of a pool that belongs to one node, that node; of a pool that
selectors or `allNodes` spread, every node, and once however many of its slices changed in between.
A pool that is incomplete or contradicts itself is told with its flaw and without devices (`pool_slices`). Devices with
`bindingConditions` are not supported and left out.
Left to others: which devices are in use, and who gets which (`allocating`).
"""

from collections.abc import Collection, Mapping

from dovetail.kubernetes.devices.device import DevicePool, PoolId
from dovetail.kubernetes.devices.pool_slices import Labels, PoolSlices, pool_of, slice_of
from dovetail.kubernetes_client.objects import Json
from dovetail.model.requests.pod_ask import NODE_NAME


class Inventory:
    def __init__(self) -> None:
        self._nodes: dict[str, Labels] = {}  # with its name as a label
        self._pools: dict[PoolId, PoolSlices] = {}
        self._pool_of: dict[str, PoolId] = {}  # by name of the slice
        self._naming: dict[str, dict[PoolId, int]] = {}  # by node: pools with slices that name it, and how many
        self._wide: set[PoolId] = set()
        self._unsettled: set[PoolId] = set()
        self._having: dict[str, set[PoolId]] = {}  # by node, what its answer is made of
        self._kept: dict[str, list[DevicePool]] = {}
        self._changed: set[str] = set()

    def set_slice(self, slice_: Json) -> None:
        name, spec = slice_["metadata"]["name"], slice_["spec"]
        id_ = pool_of(spec)
        before = self._pool_of.get(name)
        if before == id_ and self._pools[id_].slices[name].spec == spec:
            return
        self.drop_slice(name)
        one = slice_of(name, spec)
        pool = self._pools.setdefault(id_, PoolSlices(id_))
        pool.slices[name] = one
        self._pool_of[name] = id_
        for node in one.nodes or ():
            naming = self._naming.setdefault(node, {})
            naming[id_] = naming.get(id_, 0) + 1
        if one.nodes is None:
            self._wide.add(id_)
        self._unsettled.add(id_)

    def drop_slice(self, name: str) -> None:
        id_ = self._pool_of.pop(name, None)
        if id_ is None:
            return
        pool = self._pools[id_]
        one = pool.slices.pop(name)
        for node in one.nodes or ():
            naming = self._naming[node]
            naming[id_] -= 1
            if not naming[id_]:
                del naming[id_]
            if not naming:
                del self._naming[node]
        if one.nodes is None and not pool.is_wide:
            self._wide.discard(id_)
        self._unsettled.add(id_)

    def set_node(self, name: str, labels: Mapping[str, str]) -> None:
        own = {**labels, NODE_NAME: name}
        before = self._nodes.get(name)
        if own == before:
            return
        self._nodes[name] = own
        for id_ in self._wide | (set(self._naming.get(name, ())) if before is None else set()):
            # One that is not settled yet will ask every node anyway.
            if id_ not in self._unsettled and self._pools[id_].settle_node(name, own):
                self._note(name, id_)

    def drop_node(self, name: str) -> None:
        if self._nodes.pop(name, None) is None:
            return
        for id_ in list(self._having.get(name, ())):
            self._pools[id_].views.pop(name, None)
            self._note(name, id_)
        self._kept.pop(name, None)

    @property
    def nodes(self) -> Collection[str]:
        return self._nodes.keys()

    def pools(self, node: str) -> list[DevicePool]:
        """The pools available from the node, flawed ones included; none for an unknown node."""
        self._settle()
        found = self._kept.get(node)
        if found is None:
            found = [self._pools[id_].views[node] for id_ in sorted(self._having.get(node, ()))]
            if node in self._nodes:
                self._kept[node] = found
        return found

    def nodes_with(self, pool: PoolId) -> set[str]:
        """Nodes with a view of the pool, flawed or not."""
        self._settle()
        return set(self._pools[pool].views) if pool in self._pools else set()

    def take_changed(self) -> set[str]:
        """Nodes whose `pools` may have changed since the last call."""
        self._settle()
        changed, self._changed = self._changed, set()
        return changed

    def _settle(self) -> None:
        for id_ in self._unsettled:
            pool = self._pools[id_]
            for node in pool.settle(self._nodes):
                self._note(node, id_)
            if not pool.slices:
                del self._pools[id_]
        self._unsettled.clear()

    def _note(self, node: str, id_: PoolId) -> None:
        """The node's view of a pool changed or is gone."""
        having = self._having.setdefault(node, set())
        if node in self._pools[id_].views:
            having.add(id_)
        else:
            having.discard(id_)
        if not having:
            del self._having[node]
        self._kept.pop(node, None)
        self._changed.add(node)
