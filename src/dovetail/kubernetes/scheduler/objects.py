"""Everything but pods that matters to where pods go, told to the engine and to those who read pods.

Guarantees: nodes are told with what is known of their volumes; a node that goes takes what the engine knows of its pods
along before it goes, since they are not ours to place again.
"""

from collections.abc import Callable, Mapping
from typing import Any

from dovetail.engine.engine import Engine
from dovetail.kubernetes.budgets import read_budgets
from dovetail.kubernetes.client.reflector import Change, Kind
from dovetail.kubernetes.nodes import read_node
from dovetail.kubernetes.pods import PodReader
from dovetail.kubernetes.scheduler.ledger import Ledger
from dovetail.model.event import NodeJoined, NodeLeft
from dovetail.model.node import Node
from dovetail.model.task import TaskId
from dovetail.placement.preemption.nomination import Budget

Json = Mapping[str, Any]


class Objects:
    def __init__(
        self, engine: Engine, ledger: Ledger, readers: Mapping[str, PodReader], now: Callable[[], float]
    ) -> None:
        self._engine, self._ledger, self._now = engine, ledger, now
        self._readers = list(readers.values())
        self._storage, self._devices = self._readers[0].storage, self._readers[0].devices  # of all of them
        self._nodes: dict[str, tuple[Json, Node]] = {}
        self._csi: dict[str, Json] = {}
        self._budgets: dict[tuple[str, str], Json] = {}
        # Pods that wait may mean something else than when they were read: all of them, those that have claims.
        self.means_more = self.claims_mean_more = False

    def nodes(self, changes: list[Change]) -> None:
        for change in changes:
            name = change.object["metadata"]["name"]
            if change.kind is not Kind.DELETED:
                self._node(name, change.object)
            elif self._nodes.pop(name, None) is not None:
                self._devices.inventory.drop_node(name)
                self._ledger.node_goes(name)
                self._engine.handle(NodeLeft(name, "deleted"), self._now())

    def csi_nodes(self, changes: list[Change]) -> None:
        for change in changes:
            name = change.object["metadata"]["name"]
            if change.kind is Kind.DELETED:
                self._csi.pop(name, None)
            else:
                self._csi[name] = change.object
            if name in self._nodes:
                self._node(name, self._nodes[name][0])

    def _node(self, name: str, node: Json) -> None:
        """Told only if something of it changed that matters: heartbeats come every few seconds."""
        before = self._nodes.get(name)
        self._devices.inventory.set_node(name, node["metadata"].get("labels") or {})
        read = read_node(node, self._csi.get(name), marks=self._devices.marks(name))
        self._nodes[name] = (node, read)
        if before is not None and before[1] == read:
            return
        self._ledger.commands += self._engine.handle(NodeJoined(read), self._now())
        if before is None:
            self._ledger.node_came(name)

    def namespaces(self, changes: list[Change]) -> None:
        for change in changes:
            for reader in self._readers:
                if change.kind is Kind.DELETED:
                    reader.drop_namespace(change.object["metadata"]["name"])
                else:
                    reader.set_namespace(change.object)
        self.means_more = True

    def volumes(self, changes: list[Change]) -> None:
        self._tell_storage(changes, self._storage.set_volume, self._storage.drop_volume)

    def claims(self, changes: list[Change]) -> None:
        self._tell_storage(changes, self._storage.set_claim, self._storage.drop_claim)

    def classes(self, changes: list[Change]) -> None:
        self._tell_storage(changes, self._storage.making.set_class, self._storage.making.drop_class)

    def drivers(self, changes: list[Change]) -> None:
        self._tell_storage(changes, self._storage.making.set_driver, self._storage.making.drop_driver)

    def rooms(self, changes: list[Change]) -> None:
        self._tell_storage(changes, self._storage.making.set_room, self._storage.making.drop_room)

    def device_claims(self, changes: list[Change]) -> None:
        _tell(changes, self._devices.set_claim, self._devices.drop_claim)

    def device_classes(self, changes: list[Change]) -> None:
        _tell(changes, self._devices.set_class, self._devices.drop_class)
        self.claims_mean_more |= self._devices.troubled

    def slices(self, changes: list[Change]) -> None:
        _tell(changes, self._devices.inventory.set_slice, self._devices.inventory.drop_slice)
        self.claims_mean_more |= self._devices.troubled

    def mark_nodes(self) -> None:
        """Nodes of which other devices can be had than before are told anew."""
        for name in sorted(self._devices.take_changed()):
            if name in self._nodes:
                self._node(name, self._nodes[name][0])

    def _tell_storage(self, changes: list[Change], put: Callable[[Json], None], drop: Callable[..., None]) -> None:
        _tell(changes, put, drop)
        self.claims_mean_more = True

    def pod_groups(self, changes: list[Change]) -> None:
        gangs = self._ledger.gangs
        for change in changes:
            about = change.object["metadata"]
            if change.kind is Kind.DELETED:
                gangs.drop_group((about["namespace"], about["name"]))
                self.means_more = True
            else:
                self.means_more |= gangs.set_group(change.object)

    def disruption_budgets(self, changes: list[Change]) -> None:
        for change in changes:
            about = change.object["metadata"]
            place = about["namespace"], about["name"]
            if change.kind is Kind.DELETED:
                self._budgets.pop(place, None)
            else:
                self._budgets[place] = change.object

    def budgets(self) -> list[Budget]:
        """As things are now."""
        tasks = {known.place: TaskId(known.id, 0) for known in self._ledger.by_id.values()} if self._budgets else {}
        return read_budgets(self._budgets.values(), tasks)


def _tell(changes: list[Change], put: Callable[[Json], None], drop: Callable[..., None]) -> None:
    """`drop` takes the name, after the namespace of what has one."""
    for change in changes:
        if change.kind is Kind.DELETED:
            about = change.object["metadata"]
            drop(*[about[part] for part in ("namespace", "name") if part in about])
        else:
            put(change.object)
