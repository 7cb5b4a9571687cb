"""Client methods for the network: topology, domains, distances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from dovetail.client.transport.transport import API, Transport, written

if TYPE_CHECKING:
    from dovetail.model.network.topology import Topology
    from dovetail.responses.network import (
        ClearedDistances,
        DiscoveredTopology,
        DistanceBetween,
        DistanceMatrix,
        DomainRow,
        MeasuredPairList,
        NodeDistance,
        SetDistances,
        TopologyAnswer,
    )
    from dovetail.responses.traffic import TrafficRow
    from dovetail.responses.trends import TrendAnswer


class NetworkCalls:
    _http: Transport

    def topology(self) -> TopologyAnswer:
        return cast("TopologyAnswer", self._http.json("GET", f"{API}/topology"))

    def set_topology(self, topology: Topology | Mapping[str, Any]) -> TopologyAnswer:
        """Replace the description of the network."""
        return cast(
            "TopologyAnswer", self._http.json("PUT", f"{API}/topology", json=written(topology), repeatable=True)
        )

    def forget_topology(self) -> None:
        """Remove the description; the labels of nodes say where they are."""
        self._http.ask("DELETE", f"{API}/topology", repeatable=True)

    def domains(self, level: str | None = None, *, gpus: int | str | None = None) -> list[DomainRow]:
        """Domains of one level or of all, widest first; with `gpus`, how many tasks of so many GPUs each could take."""
        return cast("list[DomainRow]", self._http.items(f"{API}/topology/domains", {"level": level, "gpus": gpus}))

    def distance(self, start: str, end: str) -> DistanceBetween:
        """How far two nodes are from each other, and why."""
        return cast("DistanceBetween", self._http.json("GET", f"{API}/distances", params={"from": start, "to": end}))

    def distance_matrix(self, level: str | None = None, domain: str | None = None) -> DistanceMatrix:
        """How far the domains of a level are from each other, or with `domain` the nodes of that one."""
        return cast(
            "DistanceMatrix",
            self._http.json("GET", f"{API}/distances/matrix", params={"level": level, "domain": domain}),
        )

    def measured_distances(self, node: str | None = None, *, limit: int = 1000) -> MeasuredPairList:
        """What agents measured between nodes, nearest first; with `node`, also what is estimated of its pairs."""
        params = {"node": node, "limit": limit}
        return cast("MeasuredPairList", self._http.json("GET", f"{API}/distances/measured", params=params))

    def distance_trends(
        self,
        start: str | None = None,
        end: str | None = None,
        *,
        level: str | None = None,
        since_s: float = 3600,
        points: int = 180,
    ) -> TrendAnswer:
        """The round-trip time and the loss that agents measured between two nodes over time, with `level` between the
        nodes of two domains, or of all pairs together. A value is None where nobody measured."""
        params = {"from": start, "to": end, "level": level, "since": since_s, "points": points}
        return cast("TrendAnswer", self._http.json("GET", f"{API}/distances/trends", params=params))

    def discovered_topology(self) -> DiscoveredTopology:
        """Levels found in what agents measured; `set_topology` with its `definition` accepts them."""
        return cast("DiscoveredTopology", self._http.json("GET", f"{API}/topology/discovered"))

    def distances(self) -> list[NodeDistance]:
        """The distances that were set by hand."""
        return cast("list[NodeDistance]", self._http.items(f"{API}/distances"))

    def distances_csv(self) -> str:
        return self._http.ask("GET", f"{API}/distances", params={"format": "csv"}).text

    def set_distances(self, distances: Sequence[tuple[str, str, float]] | bytes) -> int:
        """Each from one node to another, in both directions; others stay. Bytes are CSV, or JSON as a list of items or
        as `{"items": […]}`. Returns how many were set."""
        if isinstance(distances, bytes):
            return self._set_distances_as_written(distances.strip())
        items = [{"from": start, "to": end, "distance": distance} for start, end, distance in distances]
        found: SetDistances = self._http.json("PUT", f"{API}/distances", json={"items": items}, repeatable=True)
        return found["set"]

    def _set_distances_as_written(self, text: bytes) -> int:
        is_json = text.startswith((b"[", b"{"))
        content = b'{"items": ' + text + b"}" if text.startswith(b"[") else text
        headers = {"Content-Type": "application/yaml" if is_json else "text/csv"}  # as YAML, mistakes have their line
        path = f"{API}/distances"
        found: SetDistances = self._http.json("PUT", path, content=content, headers=headers, repeatable=True)
        return found["set"]

    def clear_distances(self, start: str | None = None, end: str | None = None) -> int:
        """Clear the distance between two nodes, or all that were set. Returns how many were cleared."""
        params = {"from": start, "to": end}
        return cast("ClearedDistances", self._http.json("DELETE", f"{API}/distances", params=params))["cleared"]

    def traffic(self, *, limit: int = 100) -> list[TrafficRow]:
        """Between workloads and services, as declared and as counted, busiest first."""
        return cast("list[TrafficRow]", self._http.items(f"{API}/traffic", {"limit": limit}))
