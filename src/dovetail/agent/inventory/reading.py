"""Asks every source what this machine has. Takes up to some seconds: run it on a thread."""

from dataclasses import dataclass

from dovetail.agent.inventory.gpus import gpus_of, inventory_of
from dovetail.agent.inventory.lldp import rack_of, read_switches
from dovetail.agent.inventory.machine import interfaces, kernel, numa_of, runs_mps, virtualisation
from dovetail.agent.inventory.nvml import nvml, read_gpus
from dovetail.backends.local.settings import LocalSettings
from dovetail.model.device import Gpus
from dovetail.model.inventory import MachineInventory


@dataclass(frozen=True, slots=True)
class FoundMachine:
    """What was found, and what a node of it says: labels and GPUs."""

    inventory: MachineInventory
    gpus: list[Gpus]

    def labels(self) -> dict[str, str]:
        """`rack` only where a switch told its name."""
        found = {"kernel": self.inventory.kernel, "virtualisation": self.inventory.virtualisation}
        rack = rack_of(self.inventory.switches)
        return found if rack is None else {**found, "rack": rack}

    def described(self, settings: LocalSettings) -> LocalSettings:
        """The settings with what was found, where they say nothing themselves."""
        labels = self.labels() | settings.labels
        gpus = settings.gpus if "gpus" in settings.model_fields_set else self.gpus
        return settings.model_copy(update={"labels": labels, "gpus": gpus})


def read_machine() -> FoundMachine:
    with nvml() as lib:
        reading = None if lib is None else read_gpus(lib)
    base = {"kernel": kernel(), "virtualisation": virtualisation(), "interfaces": interfaces()}
    switches = read_switches()
    if reading is None:
        return FoundMachine(MachineInventory(**base, switches=switches), [])
    cuda = f"{reading['cuda'] // 1000}.{reading['cuda'] % 1000 // 10}"
    found = MachineInventory(
        **base,
        switches=switches,
        driver=reading["driver"],
        cuda=cuda,
        mps=runs_mps(),
        gpus=inventory_of(reading),
    )
    return FoundMachine(found, gpus_of(reading, numa_of))
