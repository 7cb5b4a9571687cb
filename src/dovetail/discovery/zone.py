"""What a name in the domain of the services means. Pure, and without a word about how DNS is written.

    web.default.dovetail                 the ready replicas of service web in namespace default
    web.dovetail                         the same: default may be left out
    0.web.default.dovetail               replica 0, of any revision
    0-r2.web.default.dovetail            replica 0 of revision 2: one endpoint, and the target of SRV records
    _http._tcp.web.default.dovetail      the port http, for SRV

Names are compared without case, as DNS does. Replicas begin with a digit and services with a letter, so no name means
two things; a service in a namespace comes before one of the default namespace with a dot in its name.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from dovetail.discovery.endpoint import DiscoveredService, Endpoint, ServiceKey
from dovetail.discovery.mirror import EndpointMirror

DEFAULT_NAMESPACE = "default"
_REPLICA = re.compile(r"(\d{1,9})(?:-r(\d{1,9}))?", re.ASCII)
_PROTOCOLS = ("_tcp", "_udp")


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a name means. `exists` False: there is nothing of that name, nor below it. `service` None: the domain itself
    or a namespace. `port`: the name of a port, where the name says one. `is_group`: only names below have records."""

    exists: bool
    service: ServiceKey | None = None
    endpoints: tuple[Endpoint, ...] = ()
    port: str | None = None
    is_group: bool = False


NOTHING = Meaning(exists=False)
GROUP = Meaning(exists=True, is_group=True)


class Zone:
    """Looks names up in a mirror; `forget` when the names of services have changed there."""

    def __init__(self, mirror: EndpointMirror) -> None:
        self._mirror = mirror
        self._names: dict[str, ServiceKey] | None = None
        self._namespaces: set[str] = set()

    def forget(self) -> None:
        self._names = None

    def find(self, name: str) -> Meaning:
        """`name`: lower case, without the domain; empty for the domain itself."""
        if not name:
            return GROUP
        if (name + ".").startswith(("_tcp.", "_udp.")):
            return self._group_of(name.partition(".")[2])
        if name.startswith("_"):
            return self._port(name)
        key = self._service(name)
        if key is not None:
            return Meaning(True, key, tuple(self._mirror.of(key)))
        first, _, rest = name.partition(".")
        replica = _REPLICA.fullmatch(first)
        if replica is not None and (key := self._service(rest)) is not None:
            return self._replica(key, int(replica[1]), replica[2])
        return GROUP if name in self._namespaces else NOTHING

    def _service(self, name: str) -> ServiceKey | None:
        if self._names is None:
            self._names = _names_of(self._mirror.services)
            self._namespaces = {namespace.lower() for namespace, _ in self._mirror.services}
        return self._names.get(name)

    def _group_of(self, service: str) -> Meaning:
        """`_tcp.web.default` has no records, but names below it."""
        key = self._service(service)
        return NOTHING if key is None else Meaning(True, key, is_group=True)

    def _port(self, name: str) -> Meaning:
        labels = name.split(".")
        at = next((place for place, label in enumerate(labels) if label in _PROTOCOLS), 0)
        key = self._service(".".join(labels[at + 1 :])) if at else None
        if key is None:
            return NOTHING
        port = _port_named(self._mirror.services[key], ".".join(labels[:at])[1:], labels[at][1:])
        if port is None:
            return NOTHING
        return Meaning(True, key, tuple(one for one in self._mirror.of(key) if port in one.ports), port)

    def _replica(self, key: ServiceKey, index: int, revision: str | None) -> Meaning:
        """One that is not ready has a name and no address."""
        wanted = None if revision is None else int(revision)
        chosen = tuple(one for one in self._mirror.of(key) if one.index == index and wanted in (None, one.revision))
        if not chosen and (wanted is not None or index >= self._mirror.services[key].replicas):
            return Meaning(False, key)
        return Meaning(True, key, chosen)


def _port_named(service: DiscoveredService, name: str, protocol: str) -> str | None:
    found = (port for port, one in service.protocols.items() if port.lower() == name and one == protocol)
    return next(found, None)


def _names_of(services: Iterable[ServiceKey]) -> dict[str, ServiceKey]:
    """The first by name where two differ in case only."""
    found: dict[str, ServiceKey] = {}
    ordered = sorted(services)
    for namespace, name in ordered:
        found.setdefault(f"{name}.{namespace}".lower(), (namespace, name))
    for namespace, name in ordered:
        if namespace == DEFAULT_NAMESPACE:
            found.setdefault(name.lower(), (namespace, name))
    return found


def replica_label(one: Endpoint) -> str:
    """The name of one endpoint, below that of its service."""
    return f"{one.index}-r{one.revision}"
