"""A copy of the server's endpoints, kept by changes (`GET /endpoints`); also as text, to be kept in a file.

Guarantees: `apply` says which services have changed, so that only answers about these are forgotten. What a server
sends beside the fields that are known here is ignored.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import orjson

from dovetail.discovery.endpoint import DiscoveredService, Endpoint, ServiceKey
from dovetail.responses.discovery import EndpointChanges, EndpointItem, ServiceItem

FORMAT = 1
AT_ONCE = 200  # items in one piece of text


class UnreadableCopy(Exception):
    """The text is not one that `EndpointMirror.text` wrote."""


class EndpointMirror:
    def __init__(self) -> None:
        self.version = 0
        self.services: dict[ServiceKey, DiscoveredService] = {}
        self.nodes: dict[str, str] = {}  # addresses by node
        self._endpoints: dict[ServiceKey, dict[int, Endpoint]] = {}
        self._home: dict[int, ServiceKey] = {}  # of each endpoint

    def of(self, key: ServiceKey) -> Iterable[Endpoint]:
        return self._endpoints.get(key, {}).values()

    def endpoints(self) -> Iterable[Endpoint]:
        return (one for found in self._endpoints.values() for one in found.values())

    def __len__(self) -> int:
        return len(self._home)

    def become(self, other: "EndpointMirror") -> None:
        """Take over the content of another mirror. The version starts anew: the next changes hold the whole table."""
        self.services, self.nodes, self.version = other.services, other.nodes, 0
        self._endpoints, self._home = other._endpoints, other._home

    def apply(self, changes: EndpointChanges) -> tuple[set[ServiceKey], bool]:
        """The services that are not as they were, and whether addresses of nodes changed."""
        changed: set[ServiceKey] = set()
        if changes["full"]:
            changed.update(self.services, self._endpoints)
            self.services, self.nodes, self._endpoints, self._home = {}, {}, {}, {}
        for namespace, name in changes["services_gone"]:
            self.services.pop((namespace, name), None)
            changed.add((namespace, name))
        for item in changes["services"]:
            service = _service(item)
            self.services[service.key] = service
            changed.add(service.key)
        for workload in changes["endpoints_gone"]:
            self._drop(workload, changed)
        for one in map(_endpoint, changes["endpoints"]):
            self._drop(one.workload, changed)
            self._endpoints.setdefault(one.key, {})[one.workload] = one
            self._home[one.workload] = one.key
            changed.add(one.key)
        for name in changes["nodes_gone"]:
            self.nodes.pop(name, None)
        self.nodes.update({item["name"]: item["address"] for item in changes["nodes"]})
        self.version = changes["version"]
        return changed, bool(changes["full"] or changes["nodes_gone"] or changes["nodes"])

    def _drop(self, workload: int, changed: set[ServiceKey]) -> None:
        key = self._home.pop(workload, None)
        if key is not None:
            del self._endpoints[key][workload]
            if not self._endpoints[key]:
                del self._endpoints[key]
            changed.add(key)

    # --- as text -----------------------------------------------------------------------------------------------------

    def text(self) -> Iterator[bytes]:
        """In pieces, each written quickly: others have work to do meanwhile. What changes then is not in it."""
        parts: dict[str, Sequence[Any]] = {
            "services": list(self.services.values()),
            "endpoints": list(self.endpoints()),
            "nodes": [{"name": name, "address": address} for name, address in self.nodes.items()],
        }
        return _pieces(parts)

    @staticmethod
    def read(text: str | bytes) -> "EndpointMirror":
        """Raises UnreadableCopy. Its version is 0: the next changes are everything."""
        found = EndpointMirror()
        try:
            kept = json.loads(text)
            if kept["format"] != FORMAT:
                raise UnreadableCopy(f"its format is {kept['format']}, not {FORMAT}")
            gone: dict[str, Any] = {"services_gone": [], "endpoints_gone": [], "nodes_gone": []}
            found.apply(cast("EndpointChanges", {**kept, **gone, "full": True, "version": 0}))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise UnreadableCopy(f"{type(error).__name__}: {error}") from None
        return found


def _pieces(parts: Mapping[str, Sequence[Any]]) -> Iterator[bytes]:
    """JSON; endpoints and services have the fields of their items."""
    yield f'{{"format": {FORMAT}'.encode()
    for name, items in parts.items():
        yield f', "{name}": ['.encode()
        for first in range(0, len(items), AT_ONCE):
            piece = orjson.dumps(items[first : first + AT_ONCE])[1:-1]
            yield b", " + piece if first else piece
        yield b"]"
    yield b"}"


def endpoint_item(one: Endpoint) -> EndpointItem:
    return {
        "namespace": one.namespace,
        "service": one.service,
        "index": one.index,
        "revision": one.revision,
        "workload": one.workload,
        "node": one.node,
        "address": one.address,
        "ports": dict(one.ports),
    }


def service_item(one: DiscoveredService) -> ServiceItem:
    return {
        "namespace": one.namespace,
        "name": one.name,
        "replicas": one.replicas,
        "protocols": dict(one.protocols),
        "labels": dict(one.labels),
    }


def _endpoint(item: EndpointItem) -> Endpoint:
    return Endpoint(
        item["namespace"],
        item["service"],
        item["index"],
        item["revision"],
        item["workload"],
        item["node"],
        item["address"],
        item["ports"],
    )


def _service(item: ServiceItem) -> DiscoveredService:
    given: Mapping[str, Any] = item
    return DiscoveredService(
        given["namespace"], given["name"], given["replicas"], given["protocols"], given.get("labels", {})
    )
