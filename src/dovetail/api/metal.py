"""Routes of bare metal: machines with their management controllers, power, boot device, sensors, savings."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, cast

from fastapi import Query, Request
from pydantic import Field

from dovetail.api.protocol.body import model_in, plane_of
from dovetail.api.protocol.openapi import Routes, takes
from dovetail.api.protocol.replies import Json
from dovetail.backends.metal.controller import BootDevice, PowerAction
from dovetail.control.services.metal import MetalService
from dovetail.model.text.strict import Strict
from dovetail.responses import ItemList
from dovetail.responses.metal import (
    MetalBootDevice,
    MetalDetail,
    MetalInventory,
    MetalRow,
    MetalSavings,
    MetalSensor,
    SavingRow,
)

if TYPE_CHECKING:
    from dovetail.backends.metal.backend import MetalBackend
    from dovetail.backends.metal.off_time import Saving

router = Routes(prefix="/metal", tags=["metal"])


class PowerBody(Strict):
    """What to do: `off` cuts the power, `shutdown` asks the operating system. `force`: although work runs there."""

    action: PowerAction
    force: bool = False


class BootDeviceBody(Strict):
    """From what it boots: the next time only, or from now on."""

    device: Annotated[BootDevice, Field(examples=["network"])]
    once: bool = True


def _row(metal: MetalService, backend: "MetalBackend", name: str) -> MetalRow:
    status = backend.status_of(name)
    machine = status.machine
    return {
        "name": name,
        "backend": backend.name,
        "rack": machine.rack,
        "protocol": "redfish" if machine.bmc.redfish is not None else "ipmi",
        "controller": machine.bmc.address,
        "power": "unknown" if status.power is None else status.power.value,
        "changing_to": None if status.changing_to is None else status.changing_to.value,
        "trouble": status.trouble,
        "answered_at": status.answered_at,
        "tasks": metal.tasks(name),
        "watts": machine.watts,
    }


def _saving(backend: "MetalBackend", one: "Saving") -> SavingRow:
    return {
        "name": one.machine,
        "backend": backend.name,
        "off_hours": one.off_hours,
        "watts": one.watts,
        "kwh": one.kwh,
        "money": one.money,
        "currency": backend.settings.energy.currency,
        "carbon_kg": one.carbon_kg,
    }


@router.get("/machines")
async def machines(request: Request) -> Json[ItemList[MetalRow]]:
    """All machines of backends of kind metal, with their power as their controllers last told it."""
    metal = plane_of(request).metal
    rows = [_row(metal, backend, name) for backend in metal.backends() for name in backend.provider.watches]
    return Json({"items": rows})


@router.get("/machines/{name}")
async def machine(request: Request, name: str) -> Json[MetalDetail]:
    """One machine, with what its controller says that it has. That may take some seconds."""
    metal = plane_of(request).metal
    backend = metal.backend_of(name)
    found = await metal.inventory(name)
    device = await metal.boot_device(name)
    inventory = None if found is None else cast("MetalInventory", asdict(found))
    row = _row(metal, backend, name)
    return Json({**row, "inventory": inventory, "boot_device": None if device is None else device.value})


@router.post("/machines/{name}/power", openapi_extra=takes(PowerBody))
async def power(request: Request, name: str) -> Json[MetalRow]:
    """Power it on or off, cycle or reset it. Refused with 409 while work runs there, unless `force`; with 503 if its
    controller does not do it. A change that takes more than some seconds goes on: `changing_to`.

    A machine without work is powered off again when its backend's `idle` time is over, unless `power_off: never`.
    """
    metal = plane_of(request).metal
    backend = metal.backend_of(name)
    wanted = await model_in(request, PowerBody)
    await metal.change_power(name, wanted.action, force=wanted.force)
    return Json(_row(metal, backend, name))


@router.put("/machines/{name}/boot-device", openapi_extra=takes(BootDeviceBody))
async def boot_device(request: Request, name: str) -> Json[MetalBootDevice]:
    """From what it boots, the next time or always."""
    metal = plane_of(request).metal
    metal.backend_of(name)
    wanted = await model_in(request, BootDeviceBody)
    await metal.set_boot_device(name, wanted.device, once=wanted.once)
    return Json({"name": name, "device": wanted.device.value, "once": wanted.once})


@router.get("/machines/{name}/sensors")
async def sensors(
    request: Request,
    name: str,
    sort: Annotated[str, Query(max_length=20, description="only temperature, fan, power or other")] = "",
) -> Json[ItemList[MetalSensor]]:
    """Temperatures, fans and power, as its controller reads them now."""
    found = await plane_of(request).metal.sensors(name)
    return Json({"items": [cast("MetalSensor", asdict(one)) for one in found if sort in ("", one.sort)]})


@router.get("/savings")
async def savings(request: Request) -> Json[MetalSavings]:
    """What machines did not use while they were off: hours, kilowatt-hours and, where the settings say what a
    kilowatt-hour costs and causes, money and CO2. Time counts while the server saw them off."""
    rows: list[SavingRow] = []
    days: list[str] = []
    for backend in plane_of(request).metal.backends():
        found, since = backend.savings()
        days += [] if since is None else [since]
        rows += [_saving(backend, one) for one in found]
    money: dict[str, float] = {}
    for row in rows:
        if row["money"] is not None:
            money[row["currency"]] = money.get(row["currency"], 0.0) + row["money"]
    carbon = [row["carbon_kg"] for row in rows if row["carbon_kg"] is not None]
    return Json(
        {
            "since": min(days, default=None),
            "kwh": sum(row["kwh"] for row in rows),
            "money": money,
            "carbon_kg": sum(carbon) if carbon else None,
            "items": rows,
        }
    )
