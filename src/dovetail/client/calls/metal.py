"""Client methods for bare metal."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dovetail.client.transport.transport import API, Transport, segment

if TYPE_CHECKING:
    from dovetail.responses.metal import MetalBootDevice, MetalDetail, MetalRow, MetalSavings, MetalSensor


class MetalCalls:
    _http: Transport

    def metal_machines(self) -> list[MetalRow]:
        return cast("list[MetalRow]", self._http.items(f"{API}/metal/machines"))

    def metal_machine(self, name: str) -> MetalDetail:
        return cast("MetalDetail", self._http.json("GET", _machine(name)))

    def metal_power(self, name: str, action: str, *, force: bool = False) -> MetalRow:
        """`action`: on, off, shutdown, cycle or reset. Raises DovetailError with status 409 while work runs there,
        unless `force`."""
        body = {"action": action, "force": force}
        return cast("MetalRow", self._http.json("POST", f"{_machine(name)}/power", json=body))

    def metal_boot_device(self, name: str, device: str, *, once: bool = True) -> MetalBootDevice:
        """`device`: disk, network, cdrom, setup or default."""
        body = {"device": device, "once": once}
        return cast("MetalBootDevice", self._http.json("PUT", f"{_machine(name)}/boot-device", json=body))

    def metal_sensors(self, name: str, *, sort: str = "") -> list[MetalSensor]:
        params = {"sort": sort or None}
        return cast("list[MetalSensor]", self._http.items(f"{_machine(name)}/sensors", params))

    def metal_savings(self) -> MetalSavings:
        """What machines did not use while they were off."""
        return cast("MetalSavings", self._http.json("GET", f"{API}/metal/savings"))


def _machine(name: str) -> str:
    return f"{API}/metal/machines/{segment(name, 'machine')}"
