"""Client methods for nodes: list, register, label and taint, cordon and drain, heartbeats, failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from dovetail.client.transport.transport import API, Transport, as_body, segment

if TYPE_CHECKING:
    from dovetail.model.node import Node
    from dovetail.responses.nodes import (
        FailureReport,
        InputPieces,
        NodeDetail,
        NodeOrders,
        NodePage,
        NodeRow,
        NodeTask,
        RegisteredNode,
        ReportedTask,
    )
    from dovetail.responses.probes import ProbeOrders, ProbeReport


class NodeCalls:
    _http: Transport

    def nodes(self) -> list[NodeRow]:
        return cast("list[NodeRow]", self._http.items(f"{API}/nodes"))

    def node_page(
        self, *, search: str = "", status: str = "", sort: str = "name", limit: int = 100, offset: int = 0
    ) -> NodePage:
        """Nodes whose names contain `search`, with one of the statuses (divided by commas): so many of them, and how
        many there are. `sort`: name, use, health, tasks, cpu, memory or gpu, with `-` before it in descending order."""
        params = {
            "search": search or None,
            "status": status or None,
            "sort": sort,
            "limit": limit,
            "offset": offset or None,
        }
        return cast("NodePage", self._http.json("GET", f"{API}/nodes", params=params))

    def node(self, name: str) -> NodeDetail:
        return cast("NodeDetail", self._http.json("GET", _node(name)))

    def register_node(self, node: Node | Mapping[str, Any] | bytes) -> RegisteredNode:
        """Register a node with the backend `registered`, or change what is known about it. Bytes are YAML. A new node
        gets a `token` of its own."""
        return cast("RegisteredNode", self._http.json("POST", f"{API}/nodes", **as_body(node), repeatable=True))

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
        return cast("NodeDetail", self._http.json("PATCH", _node(name), json=body, repeatable=True))

    def remove_node(self, name: str, *, reason: str | None = None) -> None:
        self._http.ask("DELETE", _node(name), params={"reason": reason})

    def heartbeat(
        self,
        name: str,
        *,
        used: Mapping[str, Any] | None = None,
        tasks: Sequence[ReportedTask] = (),
        answers: bool = False,
        moves: Sequence[Mapping[str, str]] = (),
    ) -> NodeOrders:
        """For node agents: report what is in use, what runs and what ended. Returns what to run and what to stop.
        `answers`: the agent also waits for `orders`, and answers the questions that come with them. `moves`: live
        migrations of VMs that are not settled."""
        body: dict[str, Any] = {"tasks": [dict(task) for task in tasks], "answers": answers}
        if used is not None:
            body["used"] = dict(used)
        if moves:
            body["moves"] = [dict(move) for move in moves]
        return cast("NodeOrders", self._http.json("POST", f"{_node(name)}/heartbeat", json=body, repeatable=True))

    def orders(self, name: str, *, after: int = 0, wait_s: float = 0.0) -> NodeOrders:
        """For node agents: what to run and to stop, as soon as that has changed since the answer with this `version`,
        or after the time."""
        found = self._http.json("GET", f"{_node(name)}/orders", params={"after": after, "wait_s": wait_s})
        return cast("NodeOrders", found)

    def answer_call(self, name: str, call: str, answer: Mapping[str, Any]) -> None:
        """For node agents: answer a question that came with the orders."""
        self._http.ask("POST", f"{_node(name)}/calls/{segment(call, 'call')}", json=dict(answer), repeatable=True)

    def report_probes(self, name: str, report: ProbeReport) -> ProbeOrders:
        """For node agents: report what was measured. Returns whom to probe next, and with which keys."""
        found = self._http.json("POST", f"{_node(name)}/probes", json=dict(report), repeatable=True)
        return cast("ProbeOrders", found)

    def send_output(
        self,
        name: str,
        session: str,
        *,
        number: int,
        content: str = "",
        exit_code: int | None = None,
        error: str = "",
        unknown: bool = False,
    ) -> None:
        """For node agents: the next piece (base64) of what a command or an attached task wrote, or how it ended."""
        body: dict[str, Any] = {"number": number, "content": content, "exit_code": exit_code}
        path = f"{_node(name)}/sessions/{segment(session, 'session')}"
        self._http.ask("POST", path, json={**body, "error": error, "unknown": unknown}, repeatable=True)

    def session_input(self, name: str, session: str, *, after: int = 0, wait_s: float = 0.0) -> InputPieces:
        """For node agents: what a command or an attached task is to read, as soon as there is some."""
        path = f"{_node(name)}/sessions/{segment(session, 'session')}/input"
        return cast("InputPieces", self._http.json("GET", path, params={"after": after, "wait_s": wait_s}))

    def cordon(self, name: str, *, reason: str = "") -> NodeDetail:
        return self._act(name, "cordon", reason)

    def uncordon(self, name: str) -> NodeDetail:
        return self._act(name, "uncordon", "")

    def drain(self, name: str, *, reason: str = "") -> NodeDetail:
        return self._act(name, "drain", reason)

    def fail(self, level: str, name: str, *, reason: str = "") -> FailureReport:
        """Report that a domain, or with level `node` one node, has failed: what ran there is lost."""
        body = {"node": name} if level in ("node", "host") else {"level": level, "name": name}
        return cast("FailureReport", self._http.json("POST", f"{API}/failures", json=body | {"reason": reason}))

    def diagnostics(self, name: str) -> str:
        """The node described in text."""
        return self._http.ask("GET", f"{_node(name)}/diagnostics").text

    def node_tasks(self, name: str) -> list[NodeTask]:
        return cast("list[NodeTask]", self._http.items(f"{_node(name)}/tasks"))

    def _act(self, name: str, action: str, reason: str) -> NodeDetail:
        path = f"{_node(name)}/{action}"
        return cast("NodeDetail", self._http.json("POST", path, json={"reason": reason}, repeatable=True))


def _node(name: str) -> str:
    return f"{API}/nodes/{segment(name, 'node')}"
