"""The Google Cloud backend: instances of Compute Engine behind the fleet that all providers of machines share."""

from pathlib import Path

from dovetail.backends.contract import Backend
from dovetail.backends.gcp.provider import GcpMachines
from dovetail.backends.gcp.settings import GcpSettings
from dovetail.backends.machines.choosing import cloud_backend


def gcp_backend(name: str, settings: GcpSettings, folder: Path) -> Backend:
    return cloud_backend(name, GcpMachines(name, settings), settings, folder)
