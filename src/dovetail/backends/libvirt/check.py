"""Whether a libvirt backend could work here, before one is added: is the library there, and the socket?"""

import importlib.util
from pathlib import Path
from urllib.parse import urlsplit

from dovetail.backends.contract import UnusableSetting
from dovetail.backends.libvirt.settings import LibvirtSettings


def check_access(settings: LibvirtSettings) -> None:
    """Raises UnusableSetting."""
    if importlib.util.find_spec("libvirt") is None:
        words = "needs the Python package libvirt-python in the version of the installed libvirt"
        raise UnusableSetting("kind", f"{words}: pip install 'dovetail-scheduler[libvirt]'")
    for index, one in enumerate(settings.hypervisors):
        socket = one.parameters.get("socket")
        local = not urlsplit(one.uri).hostname
        if local and socket is not None and not Path(socket).exists():
            words = f"there is no socket {socket}; is libvirtd running?"
            raise UnusableSetting(f"hypervisors[{index}].parameters.socket", words)
