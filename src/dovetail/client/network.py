"""Client methods for the network: topology, domains, distances."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dovetail.client.transport import API, Transport, written
from dovetail.responses.network import (
    ClearedDistances,
    DistanceBetween,
    DomainRow,
    NodeDistance,
    SetDistances,
    TopologyAnswer,
)

if TYPE_CHECKING:
    from dovetail.model.network.topology import Topology


class NetworkCalls:
    _http: Transport

    def topology(self) -> TopologyAnswer:
        return self._http.json(TopologyAnswer, "GET", f"{API}/topology")

    def set_topology(self, topology: "Topology | Mapping[str, Any]") -> TopologyAnswer:
        """Replace the description of the network."""
        return self._http.json(TopologyAnswer, "PUT", f"{API}/topology", json=written(topology), repeatable=True)

    def forget_topology(self) -> None:
        """Remove the description; the labels of nodes say where they are."""
        self._http.ask("DELETE", f"{API}/topology", repeatable=True)

    def domains(self, level: str | None = None, *, gpus: int | str | None = None) -> list[DomainRow]:
        """Domains of one level or of all, widest first; with `gpus`, how many tasks of so many GPUs each could take."""
        return self._http.items(DomainRow, f"{API}/topology/domains", {"level": level, "gpus": gpus})

    def distance(self, start: str, end: str) -> DistanceBetween:
        """How far two nodes are from each other, and why."""
        return self._http.json(DistanceBetween, "GET", f"{API}/distances", params={"from": start, "to": end})

    def distances(self) -> list[NodeDistance]:
        """The distances that were set by hand."""
        return self._http.items(NodeDistance, f"{API}/distances")

    def distances_csv(self) -> str:
        return self._http.ask("GET", f"{API}/distances", params={"format": "csv"}).text

    def set_distances(self, distances: Sequence[tuple[str, str, float]]) -> int:
        """Each from one node to another, in both directions; others stay. Returns how many were set."""
        items = [{"from": start, "to": end, "distance": distance} for start, end, distance in distances]
        return self._http.json(SetDistances, "PUT", f"{API}/distances", json={"items": items}, repeatable=True)["set"]

    def clear_distances(self, start: str | None = None, end: str | None = None) -> int:
        """Clear the distance between two nodes, or all that were set. Returns how many were cleared."""
        params = {"from": start, "to": end}
        return self._http.json(ClearedDistances, "DELETE", f"{API}/distances", params=params)["cleared"]
