"""Client methods for workloads: submit, list, inspect, cancel, read output."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from dovetail.client.transport import API, Transport, as_body, segment

if TYPE_CHECKING:  # importing the model takes longer than the server takes to answer, and plain mappings do as well
    from dovetail.model.workloads.workload import Workload
    from dovetail.responses.questions import DecisionRow, PlanAnswer, Plans
    from dovetail.responses.system import HistoryRow
    from dovetail.responses.workloads import (
        AcceptedWorkload,
        AcceptedWorkloads,
        TaskRow,
        WorkloadDetail,
        WorkloadPage,
    )

LOG_BYTES = 65536
Work: TypeAlias = "Workload | Mapping[str, Any]"


class OutputChunk(NamedTuple):
    """Output from a byte offset. `ended`: the task has ended and there is no more output."""

    text: str
    next_offset: int
    ended: bool


class WorkloadCalls:
    _http: Transport

    def submit(
        self,
        work: Work | Sequence[Work] | bytes,
        *,
        idempotency_key: str | None = None,
        user: str | None = None,
        submit_dir: str | None = None,
    ) -> list[AcceptedWorkload]:
        """All of it or none of it; durable when this returns. Bytes are YAML as it stands in a file. `user` and
        `submit_dir`: who submits, and from which directory, for workloads that do not say otherwise."""
        body = as_body(work)
        params = {"user": user, "submit_dir": submit_dir}
        headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4()), **body.pop("headers", {})}
        answer: AcceptedWorkloads = self._http.json(
            "POST", f"{API}/workloads", **body, params=params, headers=headers, repeatable=True
        )
        return answer["accepted"]

    def submit_yaml(self, text: str | bytes, *, idempotency_key: str | None = None) -> list[AcceptedWorkload]:
        """The same for YAML as it stands in a file; errors then name its lines."""
        return self.submit(text.encode() if isinstance(text, str) else text, idempotency_key=idempotency_key)

    def dry_run(
        self, work: Work | Sequence[Work] | bytes, *, user: str | None = None, submit_dir: str | None = None
    ) -> list[PlanAnswer]:
        """What `submit` would say and where the work would go; nothing is written."""
        params = {"dry_run": True, "user": user, "submit_dir": submit_dir}
        plans: Plans = self._http.json("POST", f"{API}/workloads", params=params, **as_body(work), repeatable=True)
        return plans["plans"]

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
    ) -> WorkloadPage:
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
        return cast("WorkloadPage", self._http.json("GET", f"{API}/workloads", params=params))

    def workload(self, ref: str | int, namespace: str | None = None) -> WorkloadDetail:
        return cast("WorkloadDetail", self._http.json("GET", workload_path(ref), params={"namespace": namespace}))

    def tasks(
        self, ref: str | int, namespace: str | None = None, *, limit: int = 1000, offset: int = 0
    ) -> list[TaskRow]:
        params = {"namespace": namespace, "limit": limit, "offset": offset}
        return cast("list[TaskRow]", self._http.items(f"{workload_path(ref)}/tasks", params))

    def decisions(self, ref: str | int, namespace: str | None = None, *, limit: int = 20) -> list[DecisionRow]:
        """Newest first."""
        params = {"namespace": namespace, "limit": limit}
        return cast("list[DecisionRow]", self._http.items(f"{workload_path(ref)}/decisions", params))

    def history(
        self, ref: str | int, namespace: str | None = None, *, after: int = 0, limit: int = 100
    ) -> list[HistoryRow]:
        """Oldest first."""
        params = {"namespace": namespace, "after": after, "limit": limit}
        return cast("list[HistoryRow]", self._http.items(f"{workload_path(ref)}/history", params))

    def cancel(self, ref: str | int, namespace: str | None = None, *, reason: str | None = None) -> AcceptedWorkload:
        params = {"namespace": namespace, "reason": reason}
        return cast("AcceptedWorkload", self._http.json("DELETE", workload_path(ref), params=params, repeatable=True))

    def logs(
        self,
        ref: str | int,
        namespace: str | None = None,
        *,
        replica: int | None = None,
        offset: int = 0,
        limit: int = LOG_BYTES,
    ) -> OutputChunk:
        """Output from a byte offset; go on from `next_offset` until `ended`."""
        params = {"namespace": namespace, "replica": replica, "offset": offset, "limit": limit}
        answer = self._http.ask("GET", f"{workload_path(ref)}/logs", params=params)
        headers = answer.headers
        following = int(headers.get("x-next-offset", offset + len(answer.content)))
        return OutputChunk(answer.text, following, headers.get("x-ended") == "true")

    def follow_logs(
        self, ref: str | int, namespace: str | None = None, *, replica: int | None = None, offset: int = 0
    ) -> Iterator[str]:
        """Output as the task writes it, until the task ends."""
        params = {"namespace": namespace, "replica": replica, "offset": offset, "follow": True}
        with self._http.stream(f"{workload_path(ref)}/logs", params) as answer:
            yield from answer.iter_text()


def workload_path(ref: str | int) -> str:
    return f"{API}/workloads/{segment(str(ref), 'workload')}"
