"""Is the SDK there, and the file with the key? Google itself is not asked."""

from importlib.util import find_spec
from pathlib import Path

from dovetail.backends.contract import UnusableSetting
from dovetail.backends.gcp.settings import GcpSettings


def check_sdk(settings: GcpSettings) -> None:
    """Raises UnusableSetting."""
    try:
        missing = find_spec("google.cloud.compute_v1") is None
    except ModuleNotFoundError:  # not even the package `google.cloud` is there
        missing = True
    if missing:
        words = "gcp needs Google's SDK, which is not installed: pip install 'dovetail-scheduler[gcp]'"
        raise UnusableSetting("kind", words)
    if settings.credentials is not None and not Path(settings.credentials).is_file():
        words = (
            f"there is no file {settings.credentials} on the machine of the server: give the key of a service account"
        )
        raise UnusableSetting("credentials", words)
