"""What a Redfish service says that a machine has. Every part of it is optional, and many controllers leave some out."""

from collections.abc import Callable, Iterator
from functools import partial
from math import isfinite
from typing import Any, TypeVar

from dovetail.backends.metal.controller import Accelerator, Drive, HardwareInventory, Nic

T = TypeVar("T")
_ACCELERATORS = ("GPU", "FPGA", "DSP", "Accelerator")


def inventory_of(system: Any) -> HardwareInventory:
    """Reads a page for every part, so it takes a while. Raises what sushy raises if the controller is gone."""
    data = system.json
    processors: list[Any] = _optional(lambda: system.processors.get_members(), [])
    cpus = [one for one in processors if one.json.get("ProcessorType", "CPU") == "CPU"]
    summary = data.get("ProcessorSummary") or {}
    threads = sum(one.total_threads or one.total_cores or 0 for one in cpus)
    memory = (data.get("MemorySummary") or {}).get("TotalSystemMemoryGiB")
    firmware = {"bios": data.get("BiosVersion")}
    managers: list[Any] = _optional(lambda: system.managers, [])
    if managers:
        firmware["bmc"] = _optional(lambda: managers[0].firmware_version, None)
    return HardwareInventory(
        manufacturer=_text(data.get("Manufacturer")),
        model=_text(data.get("Model")),
        serial=_text(data.get("SerialNumber")),
        cpus=_count(summary.get("Count")) or len(cpus) or None,
        cores=threads or _count(summary.get("LogicalProcessorCount")) or _count(summary.get("Count")),
        cpu_model=_text(summary.get("Model")) or next((_text(one.model) for one in cpus if one.model), ""),
        memory_bytes=_count(memory * 2**30 if isinstance(memory, int | float) else None),
        drives=list(_drives(system)),
        nics=list(_nics(system)),
        accelerators=[_accelerator(one) for one in processors if one.json.get("ProcessorType") in _ACCELERATORS],
        firmware={part: _text(version) for part, version in firmware.items() if version},
    )


def _drives(system: Any) -> Iterator[Drive]:
    storages: list[Any] = _optional(lambda: system.storage.get_members(), [])
    for storage in storages:
        for identity in storage.drives_identities or []:
            one: Any = _optional(partial(storage.get_drive, identity), None)
            if one is not None:
                name = _text(one.name) or _text(one.identity)
                yield Drive(name, _count(one.capacity_bytes), _text(one.media_type))
    if storages:
        return  # the older form would list the same ones
    simple: list[Any] = _optional(lambda: system.simple_storage.get_members(), [])
    for controller in simple:
        for device in controller.json.get("Devices") or []:
            yield Drive(_text(device.get("Name")), _count(device.get("CapacityBytes")))


def _nics(system: Any) -> Iterator[Nic]:
    found: list[Any] = _optional(lambda: system.ethernet_interfaces.get_members(), [])
    for one in found:
        mac = _text(one.mac_address) or _text(one.permanent_mac_address)
        yield Nic(_text(one.identity) or _text(one.name), mac.lower(), _count(one.speed_mbps))


def _accelerator(one: Any) -> Accelerator:
    return Accelerator(_text(one.model) or _text(one.identity), _text(one.json.get("ProcessorType")))


def _optional(read: Callable[[], T], default: T) -> T:
    """A page that is missing, or that the controller fails to show, is left out; one that cannot be reached is not."""
    from sushy import exceptions

    try:
        return read()
    except exceptions.ConnectionError:
        raise
    except exceptions.SushyError:
        return default


def _text(value: Any) -> str:
    return str(value)[:200] if value is not None else ""


def _count(value: Any) -> int | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) and value > 0
    return int(value) if known else None
