"""The EC2 backend: launched machines, with EC2 as their provider."""

from pathlib import Path

from dovetail.backends.ec2.check import check_sdk
from dovetail.backends.ec2.settings import Ec2Settings
from dovetail.backends.machines.backend import MachineBackend


class Ec2Backend(MachineBackend):
    """Implements `dovetail.backends.contract.Backend`."""

    def __init__(self, name: str, settings: Ec2Settings, folder: Path) -> None:
        check_sdk(settings)
        from dovetail.backends.ec2.provider import Ec2Provider

        super().__init__(name, Ec2Provider(name, settings), settings, settings.join, folder)
