"""Is there a way to a cluster in these settings? Files are read; no server is asked, since one may come back."""

from dovetail.backends.contract import UnusableSetting
from dovetail.backends.kubernetes.settings import KubernetesSettings
from dovetail.kubernetes_client.access import AccessError, find_access


def check_access(settings: KubernetesSettings) -> None:
    """Raises UnusableSetting for a kubeconfig that is missing, cannot be read, or has no such context."""
    try:
        find_access(settings.kubeconfig, settings.context)
    except AccessError as error:
        field = "kubeconfig" if settings.context is None else "context" if "context" in str(error) else "kubeconfig"
        words = f"{error}. The server reads it on its own machine: give the path of a file that is there"
        raise UnusableSetting(field, words) from None
