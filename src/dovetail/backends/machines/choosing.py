"""A cloud as a backend: by agents, or by cloud-init alone, as its settings say."""

from pathlib import Path

from dovetail.backends.machines.backend import MachineBackend
from dovetail.backends.machines.cloud_init.backend import CloudInitBackend
from dovetail.backends.machines.cloud_init.settings import CloudSettings
from dovetail.backends.machines.provider import ConsoleProvider


def cloud_backend(
    name: str, provider: ConsoleProvider, settings: CloudSettings, folder: Path
) -> MachineBackend | CloudInitBackend:
    if settings.cloud_init is not None:
        return CloudInitBackend(name, provider, settings, settings.cloud_init, folder)
    return MachineBackend(name, provider, settings, settings.join, folder)
