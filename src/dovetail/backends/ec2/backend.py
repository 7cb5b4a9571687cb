"""The EC2 backend: launched machines, with EC2 as their provider."""

from pathlib import Path

from dovetail.backends.contract import Backend
from dovetail.backends.ec2.check import check_sdk
from dovetail.backends.ec2.settings import Ec2Settings
from dovetail.backends.machines.choosing import cloud_backend


def ec2_backend(name: str, settings: Ec2Settings, folder: Path) -> Backend:
    check_sdk(settings)
    from dovetail.backends.ec2.provider import Ec2Provider

    return cloud_backend(name, Ec2Provider(name, settings), settings, folder)
