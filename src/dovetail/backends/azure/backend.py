"""The Azure backend: machines of Azure behind the fleet that all providers of machines share."""

from pathlib import Path

from dovetail.backends.azure.provider import AzureMachines
from dovetail.backends.azure.settings import AzureSettings
from dovetail.backends.machines.backend import MachineBackend


class AzureBackend(MachineBackend):
    """Implements `dovetail.backends.contract.Backend`."""

    def __init__(self, name: str, settings: AzureSettings, folder: Path) -> None:
        super().__init__(name, AzureMachines(name, settings), settings, settings.join, folder)
