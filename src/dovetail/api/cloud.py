"""Routes of machines that are launched for work: prices, instances, and those that nobody knows of."""

import time
from fnmatch import fnmatchcase
from typing import Annotated, cast

from fastapi import Query, Request

from dovetail.api.protocol.body import plane_of
from dovetail.api.protocol.openapi import Routes
from dovetail.api.protocol.replies import Json
from dovetail.backends.machines.provider import MachineState, MachineType
from dovetail.control.plane import ControlPlane
from dovetail.control.services.machines import SeenMachine, SeenMachines
from dovetail.responses import ItemList
from dovetail.responses.cloud import (
    CloudInstanceList,
    CloudInstanceRow,
    CloudOfferRow,
    CloudProblem,
    InstanceTask,
    ReapedInstances,
)

router = Routes(prefix="/cloud", tags=["cloud"])
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
REGION, ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"

Backend = Annotated[str | None, Query(max_length=100, description="only this backend")]


@router.get("/prices")
async def prices(
    request: Request,
    backend: Backend = None,
    match: Annotated[str, Query(max_length=200, description="pattern of the type or of its name: m7i.*")] = "*",
    gpus: Annotated[int, Query(ge=0, le=1024, description="at least so many GPUs")] = 0,
    spot: Annotated[bool | None, Query(description="only machines that may be taken back, or only others")] = None,
) -> Json[ItemList[CloudOfferRow]]:
    """What could be launched, cheapest first: every type in every zone, and whether work may be placed there now."""
    rows = [_offer(*one) for one in plane_of(request).machines.types(backend)]
    wanted = [
        row
        for row in rows
        if (fnmatchcase(row["name"], match) or fnmatchcase(row["instance_type"], match))
        and row["gpus"] >= gpus
        and spot in (None, row["spot"])
    ]
    return Json({"items": sorted(wanted, key=lambda row: (row["price_per_hour"], row["name"]))})


@router.get("/instances")
async def instances(
    request: Request,
    backend: Backend = None,
    ended: Annotated[bool, Query(description="also those that have ended lately")] = False,
) -> Json[CloudInstanceList]:
    """The machines with our mark, as their providers show them now, with what runs on them."""
    plane = plane_of(request)
    found = await plane.machines.machines(backend)
    shown = [one for one in found.machines if ended or one.machine.state is not MachineState.ENDED]
    return Json({"items": [await _instance(plane, one) for one in shown], "problems": _problems(found)})


@router.post("/reap")
async def reap(
    request: Request,
    backend: Backend = None,
    dry_run: Annotated[bool, Query(description="only name them")] = False,
) -> Json[ReapedInstances]:
    """End machines with our mark that nobody knows of, without waiting for the reaper."""
    plane = plane_of(request)
    found = await plane.machines.reap(backend, dry_run=dry_run)
    items = [await _instance(plane, one) for one in found.machines]
    return Json({"dry_run": dry_run, "items": items, "problems": _problems(found)})


def _offer(backend: str, kind: MachineType, why_not: str) -> CloudOfferRow:
    node, offer = kind.node, kind.node.offer
    return {
        "backend": backend,
        "name": kind.name,
        "instance_type": node.labels.get(INSTANCE_TYPE, ""),
        "region": node.labels.get(REGION, ""),
        "zone": node.labels.get(ZONE, ""),
        "cpu": node.capacity.cpu,
        "memory": node.capacity.memory,
        "gpus": node.capacity.gpu,
        "gpu_model": next((group.model for group in node.gpus if group.model), ""),
        "price_per_hour": 0.0 if offer is None else offer.price_per_hour,
        "currency": "USD" if offer is None else offer.currency,
        "spot": offer is not None and offer.spot,
        "offered": not why_not,
        "why_not": why_not,
    }


async def _instance(plane: ControlPlane, seen: SeenMachine) -> CloudInstanceRow:
    machine, offer = seen.machine, None if seen.kind is None else seen.kind.node.offer
    price = None if offer is None else offer.price_per_hour
    cost = None
    if price is not None and machine.launched_at is not None:
        cost = price * max(0.0, time.time() - machine.launched_at) / 3600
    rows = await plane.read(plane.store.node_tasks, machine.node) if seen.known else []
    tasks = [{field: row[field] for field in ("namespace", "name", "replica", "state")} for row in rows]
    return {
        "backend": seen.backend,
        "id": machine.id,
        "node": machine.node,
        "state": machine.state.value,
        "type": machine.type,
        "address": machine.address,
        "launched_at": machine.launched_at,
        "ends_at": machine.ends_at,
        "reason": machine.reason,
        "known": seen.known,
        "spot": offer is not None and offer.spot,
        "price_per_hour": price,
        "currency": "USD" if offer is None else offer.currency,
        "cost": cost,
        "tasks": cast("list[InstanceTask]", tasks),
    }


def _problems(found: SeenMachines) -> list[CloudProblem]:
    return [{"backend": name, "problem": words} for name, words in found.problems.items()]
