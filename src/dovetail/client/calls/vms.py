"""Client methods for virtual machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from dovetail.client.transport.transport import API, Transport, page_params, segment

if TYPE_CHECKING:
    from dovetail.responses import ItemPage
    from dovetail.responses.vms import VmChanged, VmMigration, VmRow, VmSnapshotRow
    from dovetail.responses.workloads import AcceptedWorkload


class VmCalls:
    _http: Transport

    def vms(self) -> list[VmRow]:
        """Also those that others made."""
        return cast("list[VmRow]", self._http.json("GET", f"{API}/vms")["items"])

    def vm_page(
        self, *, search: str = "", sort: str = "", limit: int | None = None, offset: int = 0
    ) -> ItemPage[VmRow]:
        """VMs whose name, node or workload contains `search`: so many of them, and how many there are. `sort`: a field
        of the rows, with `-` before it in descending order."""
        params = page_params(search, sort, limit, offset)
        return cast("ItemPage[VmRow]", self._http.json("GET", f"{API}/vms", params=params))

    def set_vm_power(self, ref: str | int, power: str, namespace: str | None = None) -> VmChanged:
        """`power`: `on`, `off`, `cut`, `reboot` or `reset`."""
        return self._changed("POST", f"{_vm(ref)}/power", namespace, {"power": power})

    def migrate_vm(
        self, ref: str | int, node: str, namespace: str | None = None, *, reason: str | None = None
    ) -> VmChanged:
        """Begin a live migration."""
        body = {"node": node} | ({} if reason is None else {"reason": reason})
        return self._changed("POST", f"{_vm(ref)}/migrate", namespace, body)

    def vm_migration(self, ref: str | int, namespace: str | None = None) -> VmMigration:
        """How far it is, or how it ended."""
        params = {"namespace": namespace}
        return cast("VmMigration", self._http.json("GET", f"{_vm(ref)}/migration", params=params))

    def vm_snapshots(self, ref: str | int, namespace: str | None = None) -> list[VmSnapshotRow]:
        params = {"namespace": namespace}
        return cast("list[VmSnapshotRow]", self._http.json("GET", f"{_vm(ref)}/snapshots", params=params)["items"])

    def take_vm_snapshot(self, ref: str | int, snapshot: str, namespace: str | None = None) -> VmChanged:
        return self._changed("PUT", _snapshot(ref, snapshot), namespace)

    def revert_vm(self, ref: str | int, snapshot: str, namespace: str | None = None) -> VmChanged:
        return self._changed("POST", f"{_snapshot(ref, snapshot)}/revert", namespace)

    def remove_vm_snapshot(self, ref: str | int, snapshot: str, namespace: str | None = None) -> VmChanged:
        return self._changed("DELETE", _snapshot(ref, snapshot), namespace)

    def adopt_vm(
        self, node: str, vm: str, name: str, *, namespace: str | None = None, user: str | None = None
    ) -> AcceptedWorkload:
        """Make a VM that others made a workload of this name."""
        given = {"node": node, "vm": vm, "name": name, "namespace": namespace, "user": user}
        body = {field: value for field, value in given.items() if value is not None}
        return cast("AcceptedWorkload", self._http.json("POST", f"{API}/vms/adopt", json=body))

    def _changed(self, method: str, path: str, namespace: str | None, body: dict[str, Any] | None = None) -> VmChanged:
        return cast("VmChanged", self._http.json(method, path, params={"namespace": namespace}, json=body))


def _vm(ref: str | int) -> str:
    return f"{API}/vms/{segment(str(ref), 'workload')}"


def _snapshot(ref: str | int, snapshot: str) -> str:
    return f"{_vm(ref)}/snapshots/{segment(snapshot, 'snapshot')}"
