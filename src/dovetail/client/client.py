"""A method for every route of the server, with typed results.

Guarantees: connections are reused; a call either returns what its type says or raises `DovetailError` (the server said
no), `ConnectError` (nobody answered) or, before anything is sent, `ValueError`. `submit` carries an idempotency key,
so that a lost answer is asked for again without submitting twice.
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias, cast
from urllib.parse import quote

from dovetail.client import types as t
from dovetail.client.backends import BackendCalls
from dovetail.client.network import NetworkCalls
from dovetail.client.policies import PolicyCalls
from dovetail.client.streams import events_in
from dovetail.client.transport import API, Transport
from dovetail.client.wire import segment, written

if TYPE_CHECKING:  # models take longer to load than a server takes to answer, and plain mappings do as well
    from dovetail.model.node import Node
    from dovetail.model.reservation import Reservation
    from dovetail.model.workloads.workload import Workload

TIMEOUT_S = 30.0
LOG_BYTES = 65536
Work: TypeAlias = "Workload | Mapping[str, Any]"


class Client(NetworkCalls, PolicyCalls, BackendCalls):
    """Talks to one server. Use it as a context manager, or call `close`.

    A workload is asked for by its id, or by its name in a namespace (`default` where none is given).
    """

    def __init__(self, url: str | None = None, token: str | None = None, timeout_s: float = TIMEOUT_S) -> None:
        self._http = Transport(url, token, timeout_s)

    @property
    def url(self) -> str:
        return self._http.url

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- workloads -------------------------------------------------------------------------------------------

    def submit(self, work: "Work | Sequence[Work]", *, idempotency_key: str | None = None) -> list[t.Accepted]:
        """All of it or none of it; durable when this returns."""
        key = idempotency_key or str(uuid.uuid4())
        headers = {"Idempotency-Key": key}
        body = written(work)
        answer = self._http.json("POST", f"{API}/workloads", json=body, headers=headers, repeatable=True)
        return cast("list[t.Accepted]", answer["accepted"])

    def submit_yaml(self, text: str | bytes, *, idempotency_key: str | None = None) -> list[t.Accepted]:
        """The same for YAML as it stands in a file; errors then name its lines."""
        headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4()), "Content-Type": "application/yaml"}
        content = text.encode() if isinstance(text, str) else text
        answer = self._http.json("POST", f"{API}/workloads", content=content, headers=headers, repeatable=True)
        return cast("list[t.Accepted]", answer["accepted"])

    def dry_run(self, work: "Work | Sequence[Work]") -> list[t.Plan]:
        """What `submit` would say and where the work would go; nothing is written."""
        params = {"dry_run": True}
        answer = self._http.json("POST", f"{API}/workloads", params=params, json=written(work), repeatable=True)
        return cast("list[t.Plan]", answer["plans"])

    def workloads(
        self,
        *,
        namespace: str | None = None,
        state: str | None = None,
        user: str | None = None,
        service: str | None = None,
        priority: str | None = None,
        name: str | None = None,
        unfinished: bool = False,
        limit: int = 100,
        cursor: str | None = None,
    ) -> t.WorkloadPage:
        """Newest first. `name` finds every workload whose name contains it."""
        params = {
            "namespace": namespace,
            "state": state,
            "user": user,
            "service": service,
            "priority": priority,
            "name": name,
            "unfinished": unfinished or None,
            "limit": limit,
            "cursor": cursor,
        }
        return cast("t.WorkloadPage", self._http.json("GET", f"{API}/workloads", params=params))

    def workload(self, ref: str | int, namespace: str | None = None) -> t.WorkloadDetail:
        return cast("t.WorkloadDetail", self._of(ref, "", namespace))

    def tasks(
        self, ref: str | int, namespace: str | None = None, *, limit: int = 1000, offset: int = 0
    ) -> list[t.TaskRow]:
        return cast("list[t.TaskRow]", self._of(ref, "/tasks", namespace, limit=limit, offset=offset)["items"])

    def decisions(self, ref: str | int, namespace: str | None = None, *, limit: int = 20) -> list[t.Decision]:
        """Newest first."""
        return cast("list[t.Decision]", self._of(ref, "/decisions", namespace, limit=limit)["items"])

    def history(
        self, ref: str | int, namespace: str | None = None, *, after: int = 0, limit: int = 100
    ) -> list[t.HistoryLine]:
        """Oldest first."""
        found = self._of(ref, "/history", namespace, after=after, limit=limit)
        return cast("list[t.HistoryLine]", found["items"])

    def cancel(self, ref: str | int, namespace: str | None = None, *, reason: str | None = None) -> t.Accepted:
        params = {"namespace": namespace, "reason": reason}
        return cast("t.Accepted", self._http.json("DELETE", _workload(ref), params=params, repeatable=True))

    def logs(
        self,
        ref: str | int,
        namespace: str | None = None,
        *,
        replica: int = 0,
        offset: int = 0,
        limit: int = LOG_BYTES,
    ) -> t.LogChunk:
        """Output from a byte offset; go on from `next_offset` until `ended`."""
        params = {"namespace": namespace, "replica": replica, "offset": offset, "limit": limit}
        answer = self._http.ask("GET", f"{_workload(ref)}/logs", params=params)
        headers = answer.headers
        following = int(headers.get("X-Next-Offset", offset + len(answer.content)))
        return t.LogChunk(answer.text, following, headers.get("X-Ended") == "true")

    def follow_logs(
        self, ref: str | int, namespace: str | None = None, *, replica: int = 0, offset: int = 0
    ) -> Iterator[str]:
        """Output as it comes, until the task ends."""
        params = {"namespace": namespace, "replica": replica, "offset": offset, "follow": True}
        with self._http.stream(f"{_workload(ref)}/logs", params) as answer:
            yield from answer.iter_text()

    # --- questions -------------------------------------------------------------------------------------------

    def explain(self, ref: str | int, namespace: str | None = None) -> t.Explained:
        return cast("t.Explained", self._of(ref, "/explain", namespace))

    def why_not(self, ref: str | int, node: str, namespace: str | None = None) -> t.WhyNot:
        return cast("t.WhyNot", self._of(ref, f"/why-not/{quote(node, safe='')}", namespace))

    def plan(self, work: "Work | Sequence[Work]") -> list[t.Plan]:
        """Where each workload would go now, each by itself; nothing is changed."""
        answer = self._http.json("POST", f"{API}/plan", json=written(work), repeatable=True)
        return cast("list[t.Plan]", answer["plans"])

    def capacity(self, work: "Work") -> t.Capacity:
        """How many more tasks like this fit, and where."""
        return cast("t.Capacity", self._http.json("POST", f"{API}/capacity", json=written(work), repeatable=True))

    # --- nodes -----------------------------------------------------------------------------------------------

    def nodes(self) -> list[t.NodeRow]:
        return cast("list[t.NodeRow]", self._http.json("GET", f"{API}/nodes")["items"])

    def node(self, name: str) -> t.NodeDetail:
        return cast("t.NodeDetail", self._http.json("GET", _node(name)))

    def register_node(self, node: "Node | Mapping[str, Any]") -> t.NodeDetail:
        """Make a node known, or change what is known of it. It belongs to the backend `registered`."""
        body = written(node)
        return cast("t.NodeDetail", self._http.json("POST", f"{API}/nodes", json=body, repeatable=True))

    def patch_node(
        self,
        name: str,
        *,
        labels: Mapping[str, str | None] | None = None,
        taints: Sequence[Mapping[str, Any]] | None = None,
    ) -> t.NodeDetail:
        """Set labels (None takes one away) and replace all taints (None leaves them)."""
        body: dict[str, Any] = {"labels": dict(labels or {})}
        if taints is not None:
            body["taints"] = [dict(taint) for taint in taints]
        return cast("t.NodeDetail", self._http.json("PATCH", _node(name), json=body, repeatable=True))

    def remove_node(self, name: str, *, reason: str | None = None) -> None:
        self._http.ask("DELETE", _node(name), params={"reason": reason})

    def heartbeat(
        self, name: str, *, used: Mapping[str, Any] | None = None, tasks: Sequence[t.TaskReport] = ()
    ) -> t.Orders:
        """For node agents: what is in use, what runs, what ended. Returns what to run and what to stop."""
        body: dict[str, Any] = {"tasks": [dict(task) for task in tasks]}
        if used is not None:
            body["used"] = dict(used)
        return cast("t.Orders", self._http.json("POST", f"{_node(name)}/heartbeat", json=body, repeatable=True))

    def cordon(self, name: str, *, reason: str = "") -> t.NodeDetail:
        return self._act(name, "cordon", reason)

    def uncordon(self, name: str) -> t.NodeDetail:
        return self._act(name, "uncordon", "")

    def drain(self, name: str, *, reason: str = "") -> t.NodeDetail:
        return self._act(name, "drain", reason)

    def fail(self, level: str, name: str, *, reason: str = "") -> t.FailureReport:
        """Say that a domain, or with level `node` one node, has failed: what ran there is lost."""
        body = {"node": name} if level in ("node", "host") else {"level": level, "name": name}
        return cast("t.FailureReport", self._http.json("POST", "/failures", json=body | {"reason": reason}))

    def diagnostics(self, name: str) -> str:
        """The node in words."""
        return self._http.ask("GET", f"{_node(name)}/diagnostics").text

    def node_tasks(self, name: str) -> list[t.NodeTask]:
        return cast("list[t.NodeTask]", self._http.json("GET", f"{_node(name)}/tasks")["items"])

    # --- queue, profiles, reservations -----------------------------------------------------------------------

    def queue(self, *, limit: int | None = None) -> list[t.QueueItem]:
        return cast("list[t.QueueItem]", self._http.json("GET", f"{API}/queue", params={"limit": limit})["items"])

    def queues(self) -> t.Queues:
        """The tree of queues with use, limits and loans, and how fair it is between tenants."""
        return cast("t.Queues", self._http.json("GET", f"{API}/queues"))

    def fragmentation(self) -> t.FragmentationReport:
        """Free GPU capacity that typical work cannot use, and what moving work would win back."""
        return cast("t.FragmentationReport", self._http.json("GET", f"{API}/fragmentation"))

    def profiles(self) -> t.Profiles:
        return cast("t.Profiles", self._http.json("GET", f"{API}/profiles"))

    def reserve(
        self, node: str, resources: Mapping[str, Any], duration: str | float, *, holder: str = ""
    ) -> t.Reservation:
        """Hold capacity back on a node, from now on and for nobody."""
        return self.reserve_ahead({"node": node, "resources": dict(resources), "duration": duration, "holder": holder})

    def reserve_ahead(self, wanted: "Reservation | Mapping[str, Any]") -> t.Reservation:
        """Room in advance, on nodes, in a domain or by shape. Raises DovetailError with status 409 and the reason when
        it cannot be met. Sent once: after a lost answer look at `reservations` first."""
        return cast("t.Reservation", self._http.json("POST", f"{API}/reservations", json=written(wanted)))

    def reservation(self, reservation: int) -> t.Reservation:
        return cast("t.Reservation", self._http.json("GET", f"{API}/reservations/{reservation}"))

    def reservations(self) -> list[t.Reservation]:
        return cast("list[t.Reservation]", self._http.json("GET", f"{API}/reservations")["items"])

    def release(self, reservation: int) -> None:
        self._http.ask("DELETE", f"{API}/reservations/{reservation}")

    # --- the whole -------------------------------------------------------------------------------------------

    def summary(self) -> t.Summary:
        return cast("t.Summary", self._http.json("GET", f"{API}/summary"))

    def events(
        self,
        *,
        after: int | None = None,
        workload: str | int | None = None,
        node: str | None = None,
        namespace: str | None = None,
    ) -> Iterator[t.HistoryLine]:
        """What happens, as it happens, until the server ends it; from `after` on if that is given."""
        params = {"after": after, "workload": workload, "node": node, "namespace": namespace}
        with self._http.stream(f"{API}/events", params, {"Accept": "text/event-stream"}) as answer:
            for event in events_in(answer.iter_lines()):
                yield cast("t.HistoryLine", event)

    def past_events(
        self,
        *,
        after: int = 0,
        workload: str | int | None = None,
        node: str | None = None,
        namespace: str | None = None,
        limit: int = 100,
    ) -> list[t.HistoryLine]:
        """What happened, oldest first."""
        params = {"after": after, "workload": workload, "node": node, "namespace": namespace, "limit": limit}
        return cast("list[t.HistoryLine]", self._http.json("GET", f"{API}/events", params=params)["items"])

    def health(self) -> t.Health:
        return cast("t.Health", self._http.json("GET", "/health"))

    def ready(self) -> t.Health:
        """Raises DovetailError with status 503 and the reason while the server is not ready."""
        return cast("t.Health", self._http.json("GET", "/ready"))

    def metrics(self) -> str:
        return self._http.ask("GET", "/metrics").text

    # --- pieces ----------------------------------------------------------------------------------------------

    def _of(self, ref: str | int, what: str, namespace: str | None, **params: Any) -> Any:
        return self._http.json("GET", f"{_workload(ref)}{what}", params={"namespace": namespace, **params})

    def _act(self, name: str, action: str, reason: str) -> t.NodeDetail:
        body = {"reason": reason}
        return cast("t.NodeDetail", self._http.json("POST", f"{_node(name)}/{action}", json=body, repeatable=True))


def _workload(ref: str | int) -> str:
    return f"{API}/workloads/{segment(str(ref), 'workload')}"


def _node(name: str) -> str:
    return f"{API}/nodes/{segment(name, 'node')}"
