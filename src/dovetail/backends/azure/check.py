"""Is the SDK there, and are the files that these settings name? Azure itself is not asked."""

from importlib.util import find_spec
from pathlib import Path

from dovetail.backends.azure.settings import AzureSettings
from dovetail.backends.contract import UnusableSetting


def check_sdk(settings: AzureSettings) -> None:
    """Raises UnusableSetting."""
    try:
        missing = any(
            find_spec(name) is None for name in ("azure.identity", "azure.mgmt.compute", "azure.mgmt.network")
        )
    except ModuleNotFoundError:  # not even the package `azure` is there
        missing = True
    if missing:
        words = "azure needs Azure's SDK, which is not installed: pip install 'dovetail-scheduler[azure]'"
        raise UnusableSetting("kind", words)
    if settings.ca is not None and not Path(settings.ca).is_file():
        raise UnusableSetting("ca", f"there is no file {settings.ca} on the machine of the server")
