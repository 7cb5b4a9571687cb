"""Client methods for questions that change nothing: plan, explain, why-not, capacity, fragmentation."""

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from dovetail.client.transport import API, Transport, written
from dovetail.client.workloads import workload_path
from dovetail.responses.questions import (
    CapacityAnswer,
    ExplainAnswer,
    FragmentationReport,
    PlanAnswer,
    Plans,
    WhyNotAnswer,
)

if TYPE_CHECKING:
    from dovetail.client.workloads import Work


class QuestionCalls:
    _http: Transport

    def explain(self, ref: str | int, namespace: str | None = None) -> ExplainAnswer:
        path = f"{workload_path(ref)}/explain"
        return self._http.json(ExplainAnswer, "GET", path, params={"namespace": namespace})

    def why_not(self, ref: str | int, node: str, namespace: str | None = None) -> WhyNotAnswer:
        path = f"{workload_path(ref)}/why-not/{quote(node, safe='')}"
        return self._http.json(WhyNotAnswer, "GET", path, params={"namespace": namespace})

    def plan(self, work: "Work | Sequence[Work]") -> list[PlanAnswer]:
        """Where each workload would go now, each by itself."""
        return self._http.json(Plans, "POST", f"{API}/plan", json=written(work), repeatable=True)["plans"]

    def capacity(self, work: "Work") -> CapacityAnswer:
        """How many more tasks like this fit, and where."""
        return self._http.json(CapacityAnswer, "POST", f"{API}/capacity", json=written(work), repeatable=True)

    def fragmentation(self) -> FragmentationReport:
        """Free GPU capacity that typical work cannot use, and how much of it moving work would recover."""
        return self._http.json(FragmentationReport, "GET", f"{API}/fragmentation")
