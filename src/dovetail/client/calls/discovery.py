"""Client methods for discovery: where services are reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dovetail.client.transport.transport import API, Transport, segment

if TYPE_CHECKING:
    from dovetail.responses.discovery import EndpointChanges, PrometheusTargets, ServiceEndpoints


class DiscoveryCalls:
    _http: Transport

    def endpoints(self, service: str, *, namespace: str | None = None, start: str | None = None) -> ServiceEndpoints:
        """The ready replicas of a service; with `start`, those nearest to this node first."""
        path = f"{API}/services/{segment(service, 'service')}/endpoints"
        params = {"namespace": namespace, "from": start}
        return cast("ServiceEndpoints", self._http.json("GET", path, params=params))

    def endpoint_changes(self, *, after: int = 0, wait_s: float = 0.0) -> EndpointChanges:
        """What changed about the endpoints of all services after a version; everything for 0. Waits so long for a
        change."""
        params = {"after": after, "wait_s": wait_s or None}
        return cast("EndpointChanges", self._http.json("GET", f"{API}/endpoints", params=params))

    def distances_from(self, node: str, *, endpoints: bool = False) -> dict[str, float]:
        """How far other nodes are from this one, or only those where some service is reached."""
        path = f"{API}/nodes/{segment(node, 'node')}/distances"
        found = self._http.json("GET", path, params={"endpoints": endpoints or None})
        return cast("dict[str, float]", found["distances"])

    def prometheus_targets(self, *, namespace: str | None = None, port: str | None = None) -> list[PrometheusTargets]:
        """As the HTTP service discovery of Prometheus reads them."""
        params = {"namespace": namespace, "port": port}
        return cast("list[PrometheusTargets]", self._http.json("GET", f"{API}/discovery/prometheus", params=params))
