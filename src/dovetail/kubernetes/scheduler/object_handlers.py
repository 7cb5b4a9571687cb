"""Handles changes of every object except pods: tells the engine of nodes and budgets, and the readers of volumes,
namespaces and devices.

Guarantees: a node is told with what is known of its volumes. Before a node is removed its pods are forgotten, since
they are not ours to place again.
"""

from collections.abc import Callable, Mapping

from dovetail.engine.engine import Engine
from dovetail.kubernetes.objects.budgets import read_budgets
from dovetail.kubernetes.objects.gangs import GROUP_API
from dovetail.kubernetes.objects.nodes import read_node
from dovetail.kubernetes.objects.pods import PodReader
from dovetail.kubernetes.scheduler.pod_tracker import PodTracker
from dovetail.kubernetes_client.objects import Json, NamespacedName, namespaced_name
from dovetail.kubernetes_client.paths import CORE, DEVICES, NODES, STORAGE
from dovetail.kubernetes_client.reflector import ChangeKind, Handler, ObjectChange
from dovetail.model.disruption_budget import DisruptionBudget
from dovetail.model.event import DisruptionBudgetsSet, NodeJoined, NodeLeft
from dovetail.model.node import Node
from dovetail.model.task import TaskId


class ObjectHandlers:
    def __init__(
        self, engine: Engine, tracker: PodTracker, readers: Mapping[str, PodReader], now: Callable[[], float]
    ) -> None:
        self._engine, self._tracker, self._now = engine, tracker, now
        self._readers = list(readers.values())
        self._storage, self._devices = self._readers[0].storage, self._readers[0].devices  # of all of them
        self._nodes: dict[str, tuple[Json, Node]] = {}
        self._csi: dict[str, Json] = {}
        self._budgets: dict[NamespacedName, Json] = {}
        self._told_budgets: tuple[DisruptionBudget, ...] = ()
        self._group_seen: Callable[[Json], None] = lambda _: None
        self._group_gone: Callable[[NamespacedName], None] = lambda _: None
        # Whether pending pods have to be read again: all of them, those that have claims.
        self.pods_outdated = self.claims_outdated = False

    def required(self) -> dict[str, Handler]:
        """The handlers of collections that every cluster has, by path; nodes come first."""
        storage, provisioning = self._storage, self._storage.provisioning
        capacities = self._claims_handler(provisioning.set_capacity, provisioning.drop_capacity)
        return {
            NODES: self.nodes,
            f"{CORE}/namespaces": self.namespaces,
            f"{CORE}/persistentvolumes": self._claims_handler(storage.set_volume, storage.drop_volume),
            f"{CORE}/persistentvolumeclaims": self._claims_handler(storage.set_claim, storage.drop_claim),
            f"{STORAGE}/storageclasses": self._claims_handler(provisioning.set_class, provisioning.drop_class),
            f"{STORAGE}/csinodes": self.csi_nodes,
            f"{STORAGE}/csidrivers": self._claims_handler(provisioning.set_driver, provisioning.drop_driver),
            f"{STORAGE}/csistoragecapacities": capacities,
            "/apis/policy/v1/poddisruptionbudgets": self.disruption_budgets,
        }

    def optional(self, *, devices: bool) -> dict[str, Handler]:
        """The handlers of collections that a cluster may not have, by path."""
        found: dict[str, Handler] = {GROUP_API: self.pod_groups}
        if devices:
            claims, inventory, errors = self._devices, self._devices.inventory, self._devices.has_errors
            found |= {
                f"{DEVICES}/deviceclasses": self._claims_handler(claims.set_class, claims.drop_class, errors),
                f"{DEVICES}/resourceslices": self._claims_handler(inventory.set_slice, inventory.drop_slice, errors),
                f"{DEVICES}/resourceclaims": lambda changes: _apply(changes, claims.set_claim, claims.drop_claim),
            }
        return found

    def _claims_handler(
        self, put: Callable[[Json], None], drop: Callable[..., None], outdates: Callable[[], bool] = lambda: True
    ) -> Handler:
        """Pods with claims are read again after a change, if it `outdates` them."""

        def handle(changes: list[ObjectChange]) -> None:
            _apply(changes, put, drop)
            self.claims_outdated |= outdates()

        return handle

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

    def mark_nodes(self) -> None:
        """Tells the engine of nodes whose available devices changed."""
        for name in sorted(self._devices.take_changed()):
            if name in self._nodes:
                self._node(name, self._nodes[name][0])

    def pod_groups(self, changes: list[ObjectChange]) -> None:
        gangs = self._tracker.gangs
        for change in changes:
            if change.kind is ChangeKind.DELETED:
                gangs.drop_group(namespaced_name(change.object))
                self._group_gone(namespaced_name(change.object))
                self.pods_outdated = True
            else:
                self._group_seen(change.object)
                self.pods_outdated |= gangs.set_group(change.object)

    def follow_groups(self, seen: Callable[[Json], None], gone: Callable[[NamespacedName], None]) -> None:
        """Call these for PodGroups as well."""
        self._group_seen, self._group_gone = seen, gone

    def disruption_budgets(self, changes: list[ObjectChange]) -> None:
        for change in changes:
            place = namespaced_name(change.object)
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


def _apply(changes: list[ObjectChange], put: Callable[[Json], None], drop: Callable[..., None]) -> None:
    """`drop` takes the name, after the namespace if there is one."""
    for change in changes:
        if change.kind is ChangeKind.DELETED:
            about = change.object["metadata"]
            drop(*[about[part] for part in ("namespace", "name") if part in about])
        else:
            put(change.object)
