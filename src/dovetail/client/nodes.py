"""Client methods for nodes: list, register, label and taint, cordon and drain, heartbeats, failures."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dovetail.client.transport import API, Transport, segment, written
from dovetail.responses.nodes import FailureReport, NodeDetail, NodeOrders, NodeRow, NodeTask, ReportedTask

if TYPE_CHECKING:
    from dovetail.model.node import Node


class NodeCalls:
    _http: Transport

    def nodes(self) -> list[NodeRow]:
        return self._http.items(NodeRow, f"{API}/nodes")

    def node(self, name: str) -> NodeDetail:
        return self._http.json(NodeDetail, "GET", _node(name))

    def register_node(self, node: "Node | Mapping[str, Any]") -> NodeDetail:
        """Register a node with the backend `registered`, or change what is known about it."""
        return self._http.json(NodeDetail, "POST", f"{API}/nodes", json=written(node), repeatable=True)

    def patch_node(
        self,
        name: str,
        *,
        labels: Mapping[str, str | None] | None = None,
        taints: Sequence[Mapping[str, Any]] | None = None,
    ) -> NodeDetail:
        """Set labels (None removes one) and replace all taints (None leaves them)."""
        body: dict[str, Any] = {"labels": dict(labels or {})}
        if taints is not None:
            body["taints"] = [dict(taint) for taint in taints]
        return self._http.json(NodeDetail, "PATCH", _node(name), json=body, repeatable=True)

    def remove_node(self, name: str, *, reason: str | None = None) -> None:
        self._http.ask("DELETE", _node(name), params={"reason": reason})

    def heartbeat(
        self, name: str, *, used: Mapping[str, Any] | None = None, tasks: Sequence[ReportedTask] = ()
    ) -> NodeOrders:
        """For node agents: report what is in use, what runs and what ended. Returns what to run and what to stop."""
        body: dict[str, Any] = {"tasks": [dict(task) for task in tasks]}
        if used is not None:
            body["used"] = dict(used)
        return self._http.json(NodeOrders, "POST", f"{_node(name)}/heartbeat", json=body, repeatable=True)

    def cordon(self, name: str, *, reason: str = "") -> NodeDetail:
        return self._act(name, "cordon", reason)

    def uncordon(self, name: str) -> NodeDetail:
        return self._act(name, "uncordon", "")

    def drain(self, name: str, *, reason: str = "") -> NodeDetail:
        return self._act(name, "drain", reason)

    def fail(self, level: str, name: str, *, reason: str = "") -> FailureReport:
        """Report that a domain, or with level `node` one node, has failed: what ran there is lost."""
        body = {"node": name} if level in ("node", "host") else {"level": level, "name": name}
        return self._http.json(FailureReport, "POST", f"{API}/failures", json=body | {"reason": reason})

    def diagnostics(self, name: str) -> str:
        """The node described in text."""
        return self._http.ask("GET", f"{_node(name)}/diagnostics").text

    def node_tasks(self, name: str) -> list[NodeTask]:
        return self._http.items(NodeTask, f"{_node(name)}/tasks")

    def _act(self, name: str, action: str, reason: str) -> NodeDetail:
        path = f"{_node(name)}/{action}"
        return self._http.json(NodeDetail, "POST", path, json={"reason": reason}, repeatable=True)


def _node(name: str) -> str:
    return f"{API}/nodes/{segment(name, 'node')}"
