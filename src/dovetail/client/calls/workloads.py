"""Client methods for workloads: submit, list, inspect, cancel, and what they used."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from dovetail.client.transport.transport import API, Transport, as_body, segment

if TYPE_CHECKING:  # importing the model takes longer than the server takes to answer, and plain mappings do as well
    from dovetail.model.workloads.workload import Workload
    from dovetail.responses.questions import DecisionPage, DecisionRow, PlanAnswer, Plans
    from dovetail.responses.system import HistoryPage, HistoryRow
    from dovetail.responses.workloads import (
        AcceptedWorkload,
        AcceptedWorkloads,
        AttemptPage,
        TaskPage,
        TaskRow,
        UsagePage,
        WorkloadDetail,
        WorkloadPage,
    )

_TRACEPARENT = re.compile(r"[0-9a-f-]{55,200}", re.ASCII)
Work: TypeAlias = "Workload | Mapping[str, Any]"


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
        given = os.environ.get("TRACEPARENT", "")
        if _TRACEPARENT.fullmatch(given):  # what is traced here goes on there
            headers["traceparent"] = given
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
        state: str | Sequence[str] | None = None,
        user: str | None = None,
        service: str | None = None,
        priority: str | None = None,
        name: str | None = None,
        queue: str | None = None,
        unfinished: bool = False,
        sort: str | None = None,
        limit: int = 100,
        offset: int = 0,
        cursor: str | None = None,
        counts: bool = False,
    ) -> WorkloadPage:
        """Newest first, or by `sort`: name, namespace, queue, submitted, state, wait or priority, with `-` before it in
        descending order. `name` finds every workload whose name contains it. `counts`: how many there are, by state."""
        params = {
            "namespace": namespace,
            "state": state if state is None or isinstance(state, str) else ",".join(state),
            "user": user,
            "service": service,
            "priority": priority,
            "name": name,
            "queue": queue,
            "unfinished": unfinished or None,
            "sort": sort,
            "limit": limit,
            "offset": offset or None,
            "cursor": cursor,
            "counts": None if counts else False,
        }
        return cast("WorkloadPage", self._http.json("GET", f"{API}/workloads", params=params))

    def workload(self, ref: str | int, namespace: str | None = None) -> WorkloadDetail:
        return cast("WorkloadDetail", self._http.json("GET", workload_path(ref), params={"namespace": namespace}))

    def tasks(
        self, ref: str | int, namespace: str | None = None, *, limit: int = 1000, offset: int = 0
    ) -> list[TaskRow]:
        params = {"namespace": namespace, "limit": limit, "offset": offset}
        return cast("list[TaskRow]", self._http.items(f"{workload_path(ref)}/tasks", params))

    def task_page(
        self,
        ref: str | int,
        namespace: str | None = None,
        *,
        state: str | None = None,
        limit: int = 1000,
        offset: int = 0,
    ) -> TaskPage:
        """Its tasks, or those in one state, with their number: failed ones first, successful ones last."""
        params = {"namespace": namespace, "state": state, "order": "unusual", "limit": limit, "offset": offset}
        return cast("TaskPage", self._http.json("GET", f"{workload_path(ref)}/tasks", params=params))

    def attempts(
        self,
        ref: str | int,
        namespace: str | None = None,
        *,
        replica: int | None = None,
        repeated: bool = False,
        limit: int = 1000,
        offset: int = 0,
    ) -> AttemptPage:
        """Every attempt to run its tasks, newest first, with their number. `repeated`: only of tasks that were tried or
        moved more than once."""
        params = {
            "namespace": namespace,
            "replica": replica,
            "repeated": repeated or None,
            "limit": limit,
            "offset": offset,
        }
        return cast("AttemptPage", self._http.json("GET", f"{workload_path(ref)}/attempts", params=params))

    def usage(
        self,
        *,
        since: float | None = None,
        until: float | None = None,
        namespace: str | None = None,
        user: str | None = None,
        queue: str | None = None,
        state: str | None = None,
        name: str | None = None,
        truncate: bool = False,
        limit: int = 100,
        cursor: str | None = None,
    ) -> UsagePage:
        """Workloads that waited or ran between two times (seconds since the epoch), newest first, with the CPU-hours
        and GPU-hours that they used, and the total. `truncate`: count only what was used in that time."""
        params = {
            "since": since,
            "until": until,
            "namespace": namespace,
            "user": user,
            "queue": queue,
            "state": state,
            "name": name,
            "truncate": truncate or None,
            "limit": limit,
            "cursor": cursor,
        }
        return cast("UsagePage", self._http.json("GET", f"{API}/usage", params=params))

    def decisions(self, ref: str | int, namespace: str | None = None, *, limit: int = 20) -> list[DecisionRow]:
        """Newest first."""
        params = {"namespace": namespace, "limit": limit}
        return cast("list[DecisionRow]", self._http.items(f"{workload_path(ref)}/decisions", params))

    def decision_page(
        self, ref: str | int, namespace: str | None = None, *, limit: int = 20, cursor: str | None = None
    ) -> DecisionPage:
        """Newest first; go on with `cursor`."""
        params = {"namespace": namespace, "limit": limit, "cursor": cursor}
        return cast("DecisionPage", self._http.json("GET", f"{workload_path(ref)}/decisions", params=params))

    def history(
        self, ref: str | int, namespace: str | None = None, *, after: int = 0, limit: int = 100
    ) -> list[HistoryRow]:
        """Oldest first."""
        params = {"namespace": namespace, "after": after, "limit": limit}
        return cast("list[HistoryRow]", self._http.items(f"{workload_path(ref)}/history", params))

    def history_page(
        self,
        ref: str | int,
        namespace: str | None = None,
        *,
        before: int | None = None,
        limit: int = 100,
    ) -> HistoryPage:
        """Newest first; go on with `cursor` as `before`."""
        params = {"namespace": namespace, "before": before, "newest": True, "limit": limit}
        return cast("HistoryPage", self._http.json("GET", f"{workload_path(ref)}/history", params=params))

    def cancel(
        self, ref: str | int, namespace: str | None = None, *, reason: str | None = None, force: bool = False
    ) -> AcceptedWorkload:
        """`force`: running tasks are killed, without their grace period, also if they were asked to stop before."""
        params = {"namespace": namespace, "reason": reason, "force": force or None}
        return cast("AcceptedWorkload", self._http.json("DELETE", workload_path(ref), params=params, repeatable=True))


def workload_path(ref: str | int) -> str:
    return f"{API}/workloads/{segment(str(ref), 'workload')}"
