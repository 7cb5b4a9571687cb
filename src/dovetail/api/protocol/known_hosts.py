"""Under which names this server may be reached, and from which pages.

A browser sends the requests of any page to any server it can reach. A page of a stranger cannot change something here:
its requests carry an Origin that is not ours. A page whose own name was made to point here (DNS rebinding) cannot
either: that name is not known. An address instead of a name is always accepted, since nobody can rebind it.
"""

import socket
from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from dovetail.control.settings import Listen

_LOOPBACK = frozenset({"localhost", "localhost.localdomain", "ip6-localhost"})


class KnownHosts:
    def __init__(self, listen: Listen) -> None:
        self._listed = frozenset(name.lower() for name in listen.names)
        own = () if listen.is_loopback else (socket.gethostname().lower(), listen.host.lower())
        self._names = frozenset({*_LOOPBACK, *own, *self._listed})

    def unknown_name(self, host: str) -> str | None:
        """The name in this Host header if it is not one of ours; None if the request may come in."""
        name = _name(host)
        if name is None:
            return host
        return None if _is_address(name) or _is_among(name, self._names) else name

    def is_foreign(self, origin: str, host: str) -> bool:
        """Whether a page of this origin is somebody else's. Behind a proxy, Host may differ from what the browser
        shows: there, a listed name counts."""
        try:
            place = urlsplit(origin).netloc
        except ValueError:
            return True
        name = _name(place)
        return name is None or (place.lower() != host.lower() and not _is_among(name, self._listed))


def _is_among(name: str, known: frozenset[str]) -> bool:
    """`.example.org` stands for every name below it."""
    parts = name.split(".")
    return name in known or any(f".{'.'.join(parts[place:])}" in known for place in range(1, len(parts)))


def _name(host: str) -> str | None:
    """Without port and brackets; None if it is no host."""
    try:
        found = urlsplit(f"//{host}")
        _ = found.port  # raises for what is no number
    except ValueError:
        return None
    is_plain = not found.path and not found.query and not found.fragment and found.username is None
    return (found.hostname or "").rstrip(".") or None if is_plain else None


def _is_address(name: str) -> bool:
    try:
        ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return True


def one_host(given: Sequence[str], http_version: str) -> str | None:
    """The one Host of a request. HTTP/1.0 has none, which counts as an address; anything else is None."""
    if not given and http_version == "1.0":
        return "127.0.0.1"
    return given[0] if len(given) == 1 else None
