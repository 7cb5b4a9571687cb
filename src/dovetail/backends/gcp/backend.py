"""The Google Cloud backend: instances of Compute Engine behind the fleet that all providers of machines share."""

from pathlib import Path

from dovetail.backends.gcp.provider import GcpMachines
from dovetail.backends.gcp.settings import GcpSettings
from dovetail.backends.machines.backend import MachineBackend


class GcpBackend(MachineBackend):
    """Implements `dovetail.backends.contract.Backend`."""

    def __init__(self, name: str, settings: GcpSettings, folder: Path) -> None:
        super().__init__(name, GcpMachines(name, settings), settings, settings.join, folder)
