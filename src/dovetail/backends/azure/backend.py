"""The Azure backend: machines of Azure behind the fleet that all providers of machines share."""

from pathlib import Path

from dovetail.backends.azure.provider import AzureMachines
from dovetail.backends.azure.settings import AzureSettings
from dovetail.backends.contract import Backend
from dovetail.backends.machines.choosing import cloud_backend


def azure_backend(name: str, settings: AzureSettings, folder: Path) -> Backend:
    return cloud_backend(name, AzureMachines(name, settings), settings, folder)
