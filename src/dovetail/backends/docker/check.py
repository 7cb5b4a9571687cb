"""Are the sockets there that these settings name? Hosts behind a network are not asked: they may come back."""

import stat
from pathlib import Path
from urllib.parse import urlsplit

from dovetail.backends.contract import UnusableSetting
from dovetail.backends.docker.settings import DockerSettings


def check_sockets(settings: DockerSettings) -> None:
    """Raises UnusableSetting for a host whose unix socket does not exist."""
    for number, host in enumerate(settings.hosts):
        parts = urlsplit(host.url)
        if parts.scheme != "unix":
            continue
        words = f"there is no socket {parts.path} on the machine of the server: start the engine, or correct the path"
        try:
            if stat.S_ISSOCK(Path(parts.path).stat().st_mode):
                continue
            words = f"{parts.path} is not a socket: give that of the engine, such as unix:///var/run/docker.sock"
        except PermissionError:
            words = f"the server may not look at {parts.path}: let its user reach the socket of the engine"
        except OSError:
            pass
        raise UnusableSetting(f"hosts[{number}].url", words)
