"""Machines with management controllers: a list, one with its hardware, sensors, savings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dovetail.cli.render.parts.table import TableColumn, table
from dovetail.cli.render.parts.text import Drawing, Stack, Text
from dovetail.cli.render.parts.times import age
from dovetail.model.text.listing import count

if TYPE_CHECKING:
    from dovetail.responses.metal import MetalDetail, MetalInventory, MetalRow, MetalSavings, MetalSensor, SavingRow

_FACT = 14
_GIB = 2**30


def machine_list(rows: Sequence[MetalRow], now: float, wide: bool = False) -> Drawing:
    if not rows:
        return Text("no backend of kind metal has machines; docs/backends/metal.md says how to add one")
    columns: list[TableColumn[MetalRow]] = [
        TableColumn("MACHINE", lambda row: row["name"], shrinks=True),
        TableColumn("RACK", lambda row: row["rack"] or "–"),
        TableColumn("POWER", _power),
        TableColumn("TASKS", lambda row: row["tasks"], right=True),
        TableColumn("WATTS", lambda row: "–" if row["watts"] is None else f"{row['watts']:g}", right=True),
        TableColumn("ANSWERED", lambda row: _ago(row["answered_at"], now), right=True),
        TableColumn("BY", lambda row: row["protocol"]),
        TableColumn("BACKEND", lambda row: row["backend"], wide=True),
        TableColumn("CONTROLLER", lambda row: row["controller"], wide=True),
    ]
    troubles = [Text(f"{row['name']}: {row['trouble']}") for row in rows if row["trouble"]]
    return Stack(table(columns, rows, wide), *([Text()] if troubles else []), *troubles)


def one_machine(row: MetalDetail, now: float) -> Drawing:
    return Stack(*(Text.assemble((f"{name:<{_FACT}}", "bold"), value) for name, value in _facts(row, now)))


def _facts(row: MetalDetail, now: float) -> Iterator[tuple[str, str]]:
    yield "machine", f"{row['name']}, of backend {row['backend']}" + (f", in {row['rack']}" if row["rack"] else "")
    yield "power", _power(row)
    yield "controller", f"{row['controller']} ({row['protocol']}), answered {_ago(row['answered_at'], now)}"
    if row["trouble"]:
        yield "trouble", row["trouble"]
    yield "tasks", str(row["tasks"])
    if row["watts"] is not None:
        yield "watts", f"{row['watts']:g} at full load"
    if row["boot_device"] is not None:
        yield "boots from", row["boot_device"]
    if row["inventory"] is not None:
        yield from _hardware(row["inventory"])


def _hardware(found: MetalInventory) -> Iterator[tuple[str, str]]:
    board = " ".join(part for part in (found["manufacturer"], found["model"]) if part)
    if board:
        yield "hardware", board + (f", serial {found['serial']}" if found["serial"] else "")
    if found["cores"] is not None:
        model = f" ({found['cpu_model']})" if found["cpu_model"] else ""
        yield "cpu", f"{count(found['cores'], 'thread')}{model}"
    if found["memory_bytes"] is not None:
        yield "memory", f"{found['memory_bytes'] / _GIB:g} GiB"
    for drive in found["drives"]:
        size = "" if drive["capacity_bytes"] is None else f", {drive['capacity_bytes'] / _GIB:.0f} GiB"
        yield "drive", drive["name"] + size + (f", {drive['sort']}" if drive["sort"] else "")
    for nic in found["nics"]:
        speed = "" if nic["speed_mbps"] is None else f", {nic['speed_mbps']} Mbit/s"
        yield "network", nic["name"] + (f", {nic['mac']}" if nic["mac"] != nic["name"] else "") + speed
    for one in found["accelerators"]:
        yield "accelerator", f"{one['model']} ({one['sort']})"
    for part, version in found["firmware"].items():
        yield "firmware", f"{part} {version}"


def sensor_list(machine: str, rows: Sequence[MetalSensor], wide: bool = False) -> Drawing:
    if not rows:
        return Text(f"the controller of {machine} tells of no sensors")
    columns: list[TableColumn[MetalSensor]] = [
        TableColumn("SENSOR", lambda row: row["name"], shrinks=True),
        TableColumn("KIND", lambda row: row["sort"]),
        TableColumn(
            "VALUE", lambda row: "–" if row["value"] is None else f"{row['value']:g} {row['unit']}", right=True
        ),
        TableColumn("HEALTH", lambda row: row["health"] or "–"),
    ]
    return table(columns, rows, wide)


def savings(found: MetalSavings, wide: bool = False) -> Drawing:
    columns: list[TableColumn[SavingRow]] = [
        TableColumn("MACHINE", lambda row: row["name"], shrinks=True),
        TableColumn("OFF HOURS", lambda row: f"{row['off_hours']:.2f}", right=True),
        TableColumn("WATTS", lambda row: f"{row['watts']:g}", right=True),
        TableColumn("KWH", lambda row: f"{row['kwh']:.3f}", right=True),
        TableColumn("MONEY", _money, right=True),
        TableColumn("CO2 KG", lambda row: "–" if row["carbon_kg"] is None else f"{row['carbon_kg']:.3f}", right=True),
        TableColumn("BACKEND", lambda row: row["backend"], wide=True),
    ]
    if found["since"] is None:
        return Text("no machine was off yet while the server looked")
    parts = [f"{found['kwh']:.3f} kWh", *(f"{amount:.2f} {currency}" for currency, amount in found["money"].items())]
    parts += [] if found["carbon_kg"] is None else [f"{found['carbon_kg']:.3f} kg of CO2"]
    return Stack(
        table(columns, found["items"], wide), Text(), Text(f"saved since {found['since']}: {', '.join(parts)}")
    )


def _money(row: SavingRow) -> str:
    return "–" if row["money"] is None else f"{row['money']:.2f} {row['currency']}"


def _power(row: MetalRow) -> str:
    words = row["power"] if row["changing_to"] in (None, row["power"]) else f"{row['power']} → {row['changing_to']}"
    return f"{words}, in doubt" if row["trouble"] and row["power"] != "unknown" else words


def _ago(at: float | None, now: float) -> str:
    return "never" if at is None else f"{age(at, now)} ago"
