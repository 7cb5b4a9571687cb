"""Handles changes of every object except pods: tells the engine of nodes and budgets, and the readers of volumes,
namespaces and devices.

Guarantees: a node is told with what is known of its volumes. Before a node is removed its pods are forgotten, since
they are not ours to place again.
"""

from collections.abc import Callable, Mapping
from typing import Any

from dovetail.engine.engine import Engine
from dovetail.kubernetes.objects.budgets import read_budgets
from dovetail.kubernetes.objects.nodes import read_node
from dovetail.kubernetes.objects.pods import PodReader
from dovetail.kubernetes.scheduler.pod_tracker import PodTracker
from dovetail.kubernetes_client.reflector import ChangeKind, ObjectChange
from dovetail.model.disruption_budget import DisruptionBudget
from dovetail.model.event import DisruptionBudgetsSet, NodeJoined, NodeLeft
from dovetail.model.node import Node
from dovetail.model.task import TaskId

Json = Mapping[str, Any]


class ObjectHandlers:
    def __init__(
        self, engine: Engine, tracker: PodTracker, readers: Mapping[str, PodReader], now: Callable[[], float]
    ) -> None:
        self._engine, self._tracker, self._now = engine, tracker, now
        self._readers = list(readers.values())
        self._storage, self._devices = self._readers[0].storage, self._readers[0].devices  # of all of them
        self._nodes: dict[str, tuple[Json, Node]] = {}
        self._csi: dict[str, Json] = {}
        self._budgets: dict[tuple[str, str], Json] = {}
        self._told_budgets: tuple[DisruptionBudget, ...] = ()
        # Pods that wait may mean something else than when they were read: all of them, those that have claims.
        self.pods_outdated = self.claims_outdated = False

    def nodes(self, changes: list[ObjectChange]) -> None:
        for change in changes:
            name = change.object["metadata"]["name"]
            if change.kind is not ChangeKind.DELETED:
                self._node(name, change.object)
            elif self._nodes.pop(name, None) is not None:
                self._devices.inventory.drop_node(name)
                self._tracker.node_goes(name)
                self._engine.handle(NodeLeft(name, "deleted"), self._now())

    def csi_nodes(self, changes: list[ObjectChange]) -> None:
        for change in changes:
            name = change.object["metadata"]["name"]
            if change.kind is ChangeKind.DELETED:
                self._csi.pop(name, None)
            else:
                self._csi[name] = change.object
            if name in self._nodes:
                self._node(name, self._nodes[name][0])

    def _node(self, name: str, node: Json) -> None:
        """Tells the engine only of changes that matter: nodes send heartbeats every few seconds."""
        before = self._nodes.get(name)
        self._devices.inventory.set_node(name, node["metadata"].get("labels") or {})
        read = read_node(node, self._csi.get(name), marks=self._devices.marks(name))
        self._nodes[name] = (node, read)
        if before is not None and before[1] == read:
            return
        self._tracker.commands += self._engine.handle(NodeJoined(read), self._now())
        if before is None:
            self._tracker.node_came(name)

    def namespaces(self, changes: list[ObjectChange]) -> None:
        for change in changes:
            for reader in self._readers:
                if change.kind is ChangeKind.DELETED:
                    reader.drop_namespace(change.object["metadata"]["name"])
                else:
                    reader.set_namespace(change.object)
        self.pods_outdated = True

    def volumes(self, changes: list[ObjectChange]) -> None:
        self._tell_storage(changes, self._storage.set_volume, self._storage.drop_volume)

    def claims(self, changes: list[ObjectChange]) -> None:
        self._tell_storage(changes, self._storage.set_claim, self._storage.drop_claim)

    def classes(self, changes: list[ObjectChange]) -> None:
        self._tell_storage(changes, self._storage.making.set_class, self._storage.making.drop_class)

    def drivers(self, changes: list[ObjectChange]) -> None:
        self._tell_storage(changes, self._storage.making.set_driver, self._storage.making.drop_driver)

    def rooms(self, changes: list[ObjectChange]) -> None:
        self._tell_storage(changes, self._storage.making.set_room, self._storage.making.drop_room)

    def device_claims(self, changes: list[ObjectChange]) -> None:
        _tell(changes, self._devices.set_claim, self._devices.drop_claim)

    def device_classes(self, changes: list[ObjectChange]) -> None:
        _tell(changes, self._devices.set_class, self._devices.drop_class)
        self.claims_outdated |= self._devices.troubled

    def slices(self, changes: list[ObjectChange]) -> None:
        _tell(changes, self._devices.inventory.set_slice, self._devices.inventory.drop_slice)
        self.claims_outdated |= self._devices.troubled

    def mark_nodes(self) -> None:
        """Tells the engine of nodes whose available devices changed."""
        for name in sorted(self._devices.take_changed()):
            if name in self._nodes:
                self._node(name, self._nodes[name][0])

    def _tell_storage(
        self, changes: list[ObjectChange], put: Callable[[Json], None], drop: Callable[..., None]
    ) -> None:
        _tell(changes, put, drop)
        self.claims_outdated = True

    def pod_groups(self, changes: list[ObjectChange]) -> None:
        gangs = self._tracker.gangs
        for change in changes:
            about = change.object["metadata"]
            if change.kind is ChangeKind.DELETED:
                gangs.drop_group((about["namespace"], about["name"]))
                self.pods_outdated = True
            else:
                self.pods_outdated |= gangs.set_group(change.object)

    def disruption_budgets(self, changes: list[ObjectChange]) -> None:
        for change in changes:
            about = change.object["metadata"]
            place = about["namespace"], about["name"]
            if change.kind is ChangeKind.DELETED:
                self._budgets.pop(place, None)
            else:
                self._budgets[place] = change.object

    def tell_budgets(self) -> None:
        """Tells the engine of the budgets if they changed; evictions under way count against them."""
        budgets = tuple(self.budgets())
        if budgets != self._told_budgets:
            self._told_budgets = budgets
            self._tracker.commands += self._engine.handle(DisruptionBudgetsSet(budgets), self._now())

    def budgets(self) -> list[DisruptionBudget]:
        """The budgets as of now."""
        tasks = {known.place: TaskId(known.id, 0) for known in self._tracker.by_id.values()} if self._budgets else {}
        return read_budgets(self._budgets.values(), tasks)


def _tell(changes: list[ObjectChange], put: Callable[[Json], None], drop: Callable[..., None]) -> None:
    """`drop` takes the name, after the namespace if there is one."""
    for change in changes:
        if change.kind is ChangeKind.DELETED:
            about = change.object["metadata"]
            drop(*[about[part] for part in ("namespace", "name") if part in about])
        else:
            put(change.object)
