"""Routes of virtual machines: which there are, power, snapshots, live migration, adoption of those that others made.

A VM of ours is a task, and is named as one: `db`, `team/db`, `db.3`. `POST /workloads/{ref}/attach` is its console.
"""

from dataclasses import asdict
from typing import Annotated, cast

from fastapi import Query, Request
from pydantic import Field

from dovetail.api.protocol.body import Namespace, Reason, model_in, plane_of
from dovetail.api.protocol.openapi import Routes, takes
from dovetail.api.protocol.replies import AcceptedJson, CreatedJson, Json
from dovetail.api.protocol.row_list import PageQuery, RowList, SortedBy, fields
from dovetail.backends.vm_control import MachinePower
from dovetail.control.errors import NotFound
from dovetail.control.services.virtual_machines import KnownMachine
from dovetail.control.services.workload_names import typed
from dovetail.model.task import TaskId
from dovetail.model.text.strict import Name, NodeName, Strict
from dovetail.model.workloads.virtual_machine import DomainName
from dovetail.model.workloads.workload import DEFAULT_NAMESPACE
from dovetail.responses import ItemList, ItemPage
from dovetail.responses.vms import VmChanged, VmMigration, VmRow, VmSnapshotRow
from dovetail.responses.workloads import AcceptedWorkload

router = Routes(prefix="/vms", tags=["vms"])

_DONE = {
    MachinePower.ON: "switched on",
    MachinePower.OFF: "asked to shut down",
    MachinePower.CUT: "power cut",
    MachinePower.REBOOT: "asked to reboot",
    MachinePower.RESET: "reset",
}

VMS: RowList[VmRow] = RowList(
    sorts=fields("name", "power", "node", "workload", "cpus", "memory_bytes", "used_memory_bytes", "backend"),
    searched=lambda row: (row["name"], row["node"], row["workload"], row["namespace"]),
    counted=lambda row: "others" if row["workload"] is None else "ours",
)


class VmQuery(PageQuery):
    sort: Annotated[str, SortedBy(VMS.sorts)] | None = None


class PowerWish(Strict):
    """`off` and `reboot` ask the guest; `cut` and `reset` do not."""

    power: MachinePower


class MigrateWish(Strict):
    """`node`: the hypervisor to move to."""

    node: NodeName
    reason: Reason = "migrated by a user"


class AdoptWish(Strict):
    """`vm`: the name of a VM that runs on `node` and that others made. `name`: of the workload that it becomes."""

    node: NodeName
    vm: DomainName
    name: Name
    namespace: Name = DEFAULT_NAMESPACE
    user: Annotated[str, Field(min_length=1, max_length=100)] | None = None


def _row(known: KnownMachine) -> VmRow:
    seen, (namespace, workload) = known.seen, known.workload or (None, None)
    task = None if seen.key is None or workload is None else seen.key.rpartition(".")[0]
    return {
        "name": seen.name,
        "node": seen.node,
        "backend": known.backend,
        "workload": workload,
        "namespace": namespace,
        "task": task,
        "power": seen.power,
        "cpus": seen.cpus,
        "memory_bytes": seen.memory_bytes,
        "used_memory_bytes": seen.used_memory_bytes,
        "cpu_time_s": seen.cpu_time_s,
    }


@router.get("")
async def vms(request: Request, query: Annotated[VmQuery, Query()]) -> Json[ItemPage[VmRow]]:
    """VMs on the nodes of backends that run VMs, also those that others made, by node and name: all, or a page of those
    whose name, node or workload contains `search`. A backend that does not answer is left out. `counts`: `ours` and
    those of `others`. Behind an agent only ours are known."""
    found = sorted(await plane_of(request).vms.all(), key=lambda one: (one.seen.node, one.seen.name))
    return Json(VMS.page([_row(one) for one in found], query))


@router.post("/adopt", openapi_extra=takes(AdoptWish))
async def adopt(request: Request) -> CreatedJson[AcceptedWorkload]:
    """Make a VM that runs, and that others made, a workload of ours, without a reboot. It keeps its name and its disks;
    when the workload ends it is shut down and stays defined. 409: it is not there, does not run, or is ours."""
    wish, plane = await model_in(request, AdoptWish), plane_of(request)
    found = await plane.vms.offer(None, wish.node, wish.vm)
    (accepted,) = await plane.submit([plane.vms.adopting(found, wish.name, wish.namespace, wish.user)])
    return CreatedJson({"id": accepted.id, "namespace": accepted.namespace, "name": accepted.name})


@router.post("/{ref}/power", openapi_extra=takes(PowerWish))
async def power(request: Request, ref: str, namespace: Namespace = None) -> AcceptedJson[VmChanged]:
    """Switch a VM on or off, or reboot it. Its workload goes on meanwhile and keeps its node. A guest that is asked may
    take a while, or not listen: `cut` and `reset` do not ask."""
    wish = await model_in(request, PowerWish)
    task, name = await _task(request, ref, namespace)
    await plane_of(request).vms.set_power(task, name, wish.power)
    return AcceptedJson({"task": str(task), "done": _DONE[wish.power]})


@router.post("/{ref}/migrate", openapi_extra=takes(MigrateWish))
async def migrate(request: Request, ref: str, namespace: Namespace = None) -> AcceptedJson[VmChanged]:
    """Move a VM to another hypervisor while it runs. `GET /vms/{ref}/migration` says how far it is. 409: that node
    cannot take it now, or not while it runs; the message says what to do. If a migration fails that had begun, the VM
    runs on where it was. To a node of another backend it is stopped, and started there."""
    wish = await model_in(request, MigrateWish)
    task, name = await _task(request, ref, namespace)
    await plane_of(request).vms.migrate(task, name, wish.node, wish.reason)
    return AcceptedJson({"task": str(task), "done": f"on its way to {wish.node}"})


@router.get("/{ref}/migration")
async def migration(request: Request, ref: str, namespace: Namespace = None) -> Json[VmMigration]:
    """The live migration of a VM that is under way, or its last one since the server started."""
    task, name = await _task(request, ref, namespace)
    found = await plane_of(request).vms.migration(task, name)
    fields = {} if found is None else asdict(found)
    answer = {field: fields.get(field) for field in VmMigration.__annotations__}
    known = {"task": str(task), "state": "none" if found is None else found.state}
    return Json(cast("VmMigration", answer | known | {"message": "" if found is None else found.words}))


@router.get("/{ref}/snapshots")
async def snapshots(request: Request, ref: str, namespace: Namespace = None) -> Json[ItemList[VmSnapshotRow]]:
    """The snapshots of a VM, oldest first."""
    task, name = await _task(request, ref, namespace)
    found = await plane_of(request).vms.snapshots(task, name)
    return Json({"items": [cast("VmSnapshotRow", asdict(one)) for one in found]})


@router.put("/{ref}/snapshots/{snapshot}")
async def take_snapshot(request: Request, ref: str, snapshot: Name, namespace: Namespace = None) -> Json[VmChanged]:
    """Take a snapshot of the disks and the memory of a VM. One that is there stays as it is."""
    task, name = await _task(request, ref, namespace)
    await plane_of(request).vms.take_snapshot(task, name, snapshot)
    return Json({"task": str(task), "done": f"snapshot {snapshot} taken"})


@router.post("/{ref}/snapshots/{snapshot}/revert")
async def revert(request: Request, ref: str, snapshot: Name, namespace: Namespace = None) -> Json[VmChanged]:
    """Let a VM go on from a snapshot. What happened since is lost. 409: there is no such snapshot."""
    task, name = await _task(request, ref, namespace)
    await plane_of(request).vms.revert(task, name, snapshot)
    return Json({"task": str(task), "done": f"reverted to snapshot {snapshot}"})


@router.delete("/{ref}/snapshots/{snapshot}")
async def remove_snapshot(request: Request, ref: str, snapshot: Name, namespace: Namespace = None) -> Json[VmChanged]:
    """Remove a snapshot. The VM goes on as it is."""
    task, name = await _task(request, ref, namespace)
    await plane_of(request).vms.remove_snapshot(task, name, snapshot)
    return Json({"task": str(task), "done": f"snapshot {snapshot} removed"})


async def _task(request: Request, ref: str, namespace: str | None) -> tuple[TaskId, str]:
    """The task that is meant, and how users write it."""
    row, named = await plane_of(request).names.one(ref, namespace)
    replica = named or 0
    if replica >= row["replicas"]:
        raise NotFound(f"workload {row['namespace']}/{row['name']} has no replica {replica}; it has {row['replicas']}")
    return TaskId(row["id"], replica), typed(row, replica)
