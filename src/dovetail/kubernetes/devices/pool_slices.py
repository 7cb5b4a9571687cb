"""The slices of one pool put together: which of them count, whether they are whole, and what each node can have.

Guarantees: only slices of the newest generation count, wherever they can be had from. While some of them are missing,
or they contradict each other, nothing may be taken from the pool, and its flaw says why. Slices count in the order of
their names, so that the same slices give the same pools however they came.
Devices that must be waited for before a pod is bound (`bindingConditions`) are not supported: no node can have them,
but what others were given of them still draws on the counters of the pool.
Left to others: which nodes there are (`inventory`), and who uses what (`allocating`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dovetail.kubernetes.devices.counters import BadCounters, check_draws, counters_of
from dovetail.kubernetes.devices.device import DeviceId, DevicePool, DraDevice, PoolId
from dovetail.kubernetes.objects.selectors import node_terms, selects
from dovetail.kubernetes_client.objects import Json
from dovetail.model.requests.asks import Term
from dovetail.model.requests.pod_ask import NODE_NAME

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DeviceReach:
    """From which nodes a slice, or one device of it, can be had. `node`: the only one; `terms`: of which one must hold;
    `everywhere`: all of them. What says none of these can be had from nowhere: it may be meant in a way that is not
    known here."""

    node: str = ""
    everywhere: bool = False
    terms: tuple[Term, ...] = ()

    def has(self, labels: Labels) -> bool:
        """A node by its labels, its name among them as NODE_NAME."""
        if self.node:
            return labels[NODE_NAME] == self.node
        return self.everywhere or any(selects(term, labels) for term in self.terms)


def reach_of(said: Json) -> DeviceReach:
    """`said`: the spec of a slice, or a device of one that leaves it to its devices; both have the same fields."""
    if node := said.get("nodeName"):
        return DeviceReach(node=node)
    return DeviceReach(everywhere=bool(said.get("allNodes")), terms=node_terms(said.get("nodeSelector")) or ())


@dataclass(frozen=True, slots=True)
class PoolSlice:
    """`reaches`: of each device where the slice leaves it to them, or else one for all; `nodes`: all that can have
    anything of it, None where a selector has to be asked."""

    name: str
    spec: Json
    devices: tuple[DraDevice, ...]
    reaches: tuple[DeviceReach, ...]
    nodes: frozenset[str] | None

    @property
    def generation(self) -> int:
        return int(self.spec["pool"].get("generation") or 0)

    def within(self, labels: Labels) -> tuple[int, ...] | None:
        """Positions of the devices that a node with these labels can have; None: nothing of it is meant for that."""
        if not self.spec.get("perDeviceNodeSelection"):
            return tuple(range(len(self.devices))) if self.reaches[0].has(labels) else None
        found = tuple([position for position, reach in enumerate(self.reaches) if reach.has(labels)])
        return found or None


def pool_of(spec: Json) -> PoolId:
    return PoolId(spec["driver"], spec["pool"]["name"])


def slice_of(name: str, spec: Json) -> PoolSlice:
    """One with counters offers no devices, only what devices of other slices draw on."""
    bodies = () if spec.get("sharedCounters") else spec.get("devices") or ()
    driver, pool = pool_of(spec)
    devices = tuple([DraDevice(DeviceId(driver, pool, body["name"]), body, spec) for body in bodies])
    reaches = tuple(map(reach_of, bodies)) if spec.get("perDeviceNodeSelection") else (reach_of(spec),)
    named = all(reach.node for reach in reaches)
    return PoolSlice(name, spec, devices, reaches, frozenset([reach.node for reach in reaches]) if named else None)


class PoolSlices:
    """`views`: by node, what of the pool can be had from there, as of the last `settle`; only where there is something
    to have, or would be but for a flaw."""

    def __init__(self, id_: PoolId) -> None:
        self.id = id_
        self.slices: dict[str, PoolSlice] = {}
        self.views: dict[str, DevicePool] = {}
        self._by_node: dict[str, list[PoolSlice]] = {}  # slices that name their nodes, by each
        self._wide: list[PoolSlice] = []  # slices that every node has to be asked about
        self._flaw = ""
        self._counters: Mapping[str, Mapping[str, int]] = {}
        self._sharing: tuple[DraDevice, ...] = ()
        self._made: dict[tuple[tuple[str, tuple[int, ...]], ...], DevicePool] = {}  # many nodes can have the same

    def settle(self, nodes: Mapping[str, Labels]) -> set[str]:
        """Combines the slices again after a change; returns the nodes whose view changed."""
        self._gather()
        asked: Iterable[str] = nodes if self._wide else [name for name in self._by_node if name in nodes]
        before, self.views = self.views, {}
        for name in asked:
            self._look(name, nodes[name])
        gone = {name for name in before if name not in self.views}
        return gone | {name for name, view in self.views.items() if view != before.get(name)}

    def settle_node(self, name: str, labels: Labels) -> bool:
        """After a node appeared or its labels changed: did its view change?"""
        before = self.views.pop(name, None)
        self._look(name, labels)
        return self.views.get(name) != before

    @property
    def is_wide(self) -> bool:
        """May nodes that no slice names have some of it?"""
        return any(one.nodes is None for one in self.slices.values())

    def _gather(self) -> None:
        newest = max([one.generation for one in self.slices.values()], default=0)
        current = [one for _name, one in sorted(self.slices.items()) if one.generation == newest]
        self._by_node, self._wide, self._made = {}, [], {}
        for one in current:
            for node in one.nodes or ():
                self._by_node.setdefault(node, []).append(one)
            if one.nodes is None:
                self._wide.append(one)
        self._flaw = _missing(current)
        counters: Mapping[str, Mapping[str, int]] = {}
        if not self._flaw:
            try:
                counters = _checked_counters(current)
            except BadCounters as error:
                self._flaw = str(error)
        sharing = [device for one in current for device in one.devices if device.body.get("consumesCounters")]
        # What stays the same stays the same object, which makes it quick to see that a view has not changed.
        self._counters = self._counters if counters == self._counters else counters
        self._sharing = self._sharing if tuple(sharing) == self._sharing else tuple(sharing)

    def _look(self, name: str, labels: Labels) -> None:
        concerned = sorted([*self._by_node.get(name, ()), *self._wide], key=lambda one: one.name)
        found = [(one, within) for one in concerned if (within := one.within(labels)) is not None]
        if not found:
            return
        key = tuple([(one.name, within) for one, within in found])
        view = self._made.get(key)
        if view is None:
            view = self._made[key] = self._view(found)
        if view.flaw or view.devices:
            self.views[name] = view

    def _view(self, found: list[tuple[PoolSlice, tuple[int, ...]]]) -> DevicePool:
        flaw = self._flaw or _doubled([one for one, _within in found])
        if flaw:
            return DevicePool(self.id, flaw=flaw)
        offered = [one.devices[position] for one, within in found for position in within]
        devices = tuple([device for device in offered if not device.body.get("bindingConditions")])
        return DevicePool(self.id, devices, "", self._counters, self._sharing)


def _missing(slices: list[PoolSlice]) -> str:
    counts = {int(one.spec["pool"].get("resourceSliceCount") or 0) for one in slices}
    if counts <= {len(slices)}:
        return ""
    return f"the pool is being updated: {len(slices)} of {max(counts)} slices of its newest generation are there"


def _checked_counters(slices: list[PoolSlice]) -> dict[str, dict[str, int]]:
    counters = counters_of([one.spec for one in slices])
    for one in slices:
        for device in one.devices:
            check_draws(device.body, counters)
    return counters


def _doubled(slices: list[PoolSlice]) -> str:
    times = Counter([device.id.name for one in slices for device in one.devices])
    twice = [name for name, count in times.items() if count > 1]
    return f"device {twice[0]} is in the pool twice" if twice else ""
