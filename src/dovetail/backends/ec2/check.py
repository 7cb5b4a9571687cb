"""Is AWS's library here, and are the settings ones that can work?"""

import importlib.util
from pathlib import Path

from dovetail.backends.contract import UnusableSetting
from dovetail.backends.ec2.settings import Ec2Settings


def check_sdk(settings: Ec2Settings) -> None:
    """Raises UnusableSetting. AWS itself is not asked."""
    if importlib.util.find_spec("boto3") is None:
        words = "ec2 needs boto3, which is not installed where the server runs: pip install 'dovetail-scheduler[aws]'"
        raise UnusableSetting("kind", words)
    if settings.ca_bundle is not None and not Path(settings.ca_bundle).is_file():
        raise UnusableSetting("ca_bundle", f"there is no file {settings.ca_bundle} on the machine of the server")
