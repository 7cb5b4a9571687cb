"""Client methods for questions that change nothing: plan, explain, why-not, capacity, fragmentation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast
from urllib.parse import quote

from dovetail.client.calls.workloads import workload_path
from dovetail.client.transport.transport import API, Transport, as_body, written

if TYPE_CHECKING:
    from dovetail.client.calls.workloads import Work
    from dovetail.responses.questions import (
        CapacityAnswer,
        ExplainAnswer,
        FragmentationReport,
        PlanAnswer,
        Plans,
        RefusalPage,
        WhyNotAnswer,
    )


class QuestionCalls:
    _http: Transport

    def explain(self, ref: str | int, namespace: str | None = None) -> ExplainAnswer:
        path = f"{workload_path(ref)}/explain"
        return cast("ExplainAnswer", self._http.json("GET", path, params={"namespace": namespace}))

    def why_not(self, ref: str | int, node: str, namespace: str | None = None) -> WhyNotAnswer:
        path = f"{workload_path(ref)}/why-not/{quote(node, safe='')}"
        return cast("WhyNotAnswer", self._http.json("GET", path, params={"namespace": namespace}))

    def refusals(
        self, ref: str | int, step: str, namespace: str | None = None, *, limit: int | None = None, offset: int = 0
    ) -> RefusalPage:
        """The nodes that one step of its funnel refuses now, and why. `step`: a filter, as `explain` names it."""
        path = f"{workload_path(ref)}/refusals/{quote(step, safe='')}"
        params = {"namespace": namespace, "limit": limit, "offset": offset or None}
        return cast("RefusalPage", self._http.json("GET", path, params=params))

    def plan(self, work: Work | Sequence[Work] | bytes, *, tasks: int | None = None) -> list[PlanAnswer]:
        """Where each workload would go now, each by itself. Bytes are YAML as it stands in a file."""
        plans: Plans = self._http.json("POST", f"{API}/plan", params={"tasks": tasks}, **as_body(work), repeatable=True)
        return plans["plans"]

    def capacity(self, work: Work) -> CapacityAnswer:
        """How many more tasks like this fit, and where."""
        return cast("CapacityAnswer", self._http.json("POST", f"{API}/capacity", json=written(work), repeatable=True))

    def fragmentation(self) -> FragmentationReport:
        """Free GPU capacity that typical work cannot use, and how much of it moving work would recover."""
        return cast("FragmentationReport", self._http.json("GET", f"{API}/fragmentation"))
