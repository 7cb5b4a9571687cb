"""The part of the client that speaks of the network: topology, domains, distances."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from dovetail.client import types as t
from dovetail.client.transport import API, Transport
from dovetail.client.wire import written

if TYPE_CHECKING:
    from dovetail.model.network.topology import Topology


class NetworkCalls:
    _http: Transport

    def topology(self) -> t.NetworkTopology:
        return cast("t.NetworkTopology", self._http.json("GET", f"{API}/topology"))

    def set_topology(self, topology: "Topology | Mapping[str, Any]") -> t.NetworkTopology:
        """Describe the network anew."""
        body = written(topology)
        return cast("t.NetworkTopology", self._http.json("PUT", f"{API}/topology", json=body, repeatable=True))

    def forget_topology(self) -> None:
        """Go by the labels of nodes again."""
        self._http.ask("DELETE", f"{API}/topology", repeatable=True)

    def domains(self, level: str | None = None, *, gpus: int | str | None = None) -> list[t.DomainRow]:
        """Of one level or of all, widest first; with `gpus`, how many tasks of so many GPUs each could take now."""
        params = {"level": level, "gpus": gpus}
        return cast("list[t.DomainRow]", self._http.json("GET", f"{API}/topology/domains", params=params)["items"])

    def distance(self, start: str, end: str) -> t.Apart:
        """How far two nodes are from each other, and why."""
        return cast("t.Apart", self._http.json("GET", f"{API}/distances", params={"from": start, "to": end}))

    def distances(self) -> list[t.NodeDistance]:
        """Those that were set by hand."""
        return cast("list[t.NodeDistance]", self._http.json("GET", f"{API}/distances")["items"])

    def distances_csv(self) -> str:
        return self._http.ask("GET", f"{API}/distances", params={"format": "csv"}).text

    def set_distances(self, distances: Sequence[tuple[str, str, float]]) -> int:
        """From one node to another, in both directions; others stay as they are. How many were set."""
        items = [{"from": start, "to": end, "distance": distance} for start, end, distance in distances]
        answer = self._http.json("PUT", f"{API}/distances", json={"items": items}, repeatable=True)
        return cast("int", answer["set"])

    def clear_distances(self, start: str | None = None, end: str | None = None) -> int:
        """Of two nodes, or all; how many were taken back."""
        params = {"from": start, "to": end}
        return cast("int", self._http.json("DELETE", f"{API}/distances", params=params)["cleared"])
