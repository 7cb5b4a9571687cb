"""The metal backend: machines that their management controllers power on for work, and off when they are idle.

Work runs through the agent of each machine. Beside the contract it answers questions about the hardware, for people.
"""

from dataclasses import dataclass
from pathlib import Path

from dovetail.backends.machines.backend import MachineBackend
from dovetail.backends.metal.controller import (
    BootDevice,
    HardwareInventory,
    ManagementController,
    PowerAction,
    PowerState,
    SensorReading,
)
from dovetail.backends.metal.ipmi import IpmiController
from dovetail.backends.metal.off_time import Saving
from dovetail.backends.metal.provider import MetalProvider
from dovetail.backends.metal.redfish import RedfishController
from dovetail.backends.metal.settings import MetalMachine, MetalSettings


def controller_of(machine: MetalMachine, settings: MetalSettings) -> ManagementController:
    if machine.bmc.redfish is not None:
        return RedfishController(machine.bmc, settings.answer_within)
    return IpmiController(machine.bmc, settings.answer_within, settings.ipmitool)


@dataclass(frozen=True, slots=True)
class MetalStatus:
    """`power` as it was last believed; None: it was never known. `trouble`: why its controller cannot be relied on."""

    machine: MetalMachine
    power: PowerState | None
    changing_to: PowerState | None
    trouble: str
    answered_at: float | None


class MetalBackend(MachineBackend):
    def __init__(self, name: str, settings: MetalSettings, folder: Path) -> None:
        self.settings = settings
        controllers = {one.name: controller_of(one, settings) for one in settings.machines}
        self.provider = MetalProvider(name, settings, controllers, folder, self.heard_at)
        super().__init__(name, self.provider, settings.for_fleet(), None, folder, boot_within_s=settings.boot_within)

    # --- for people --------------------------------------------------------------------------------------------

    def statuses(self) -> list[MetalStatus]:
        return [self.status_of(name) for name in self.provider.watches]

    def status_of(self, machine: str) -> MetalStatus:
        """Raises KeyError."""
        watch = self.provider.watches[machine]
        return MetalStatus(watch.machine, watch.power, watch.wanted, str(watch.trouble or ""), watch.answered_at)

    def known_inventory(self, machine: str) -> HardwareInventory | None:
        return self.provider.inventories.get(machine)

    async def inventory(self, machine: str) -> HardwareInventory:
        """As the controller says it now. Raises BmcTrouble, as do the others."""
        return await self.provider.inventory(machine)

    async def sensors(self, machine: str) -> list[SensorReading]:
        return await self.provider.watches[machine].controller.sensors()

    async def boot_device(self, machine: str) -> BootDevice | None:
        return await self.provider.watches[machine].controller.boot_device()

    async def set_boot_device(self, machine: str, device: BootDevice, *, once: bool) -> None:
        await self.provider.watches[machine].controller.set_boot_device(device, once=once)

    async def change_power(self, machine: str, action: PowerAction) -> None:
        """Returns when the controller says that it is done. What runs there is not asked."""
        watch = self.provider.watches[machine]
        if action is PowerAction.ON:
            await watch.power_on()
        elif action is PowerAction.OFF:
            await watch.power_off(graceful=False)
        elif action is PowerAction.SHUTDOWN:
            await watch.power_off()
        else:
            await watch.restart(action)

    def savings(self) -> tuple[list[Saving], str | None]:
        return self.provider.savings()

    @property
    def saved_kwh(self) -> float:
        return sum(one.kwh for one in self.savings()[0])
