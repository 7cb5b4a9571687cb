"""Client methods for costs and budgets."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dovetail.client.transport.transport import API, Transport, segment

if TYPE_CHECKING:
    from dovetail.responses.cost import BudgetRow, CostForecast, CostPage, CostReport


class CostCalls:
    _http: Transport

    def costs(
        self,
        by: str = "namespace",
        *,
        month: str | None = None,
        since: str | None = None,
        until: str | None = None,
        namespace: str | None = None,
        user: str | None = None,
        queue: str | None = None,
        limit: int | None = None,
    ) -> CostPage:
        """What work has cost by `workload`, `user`, `namespace` or `queue`, or what nodes have by `node` or `backend`.
        A month is written `2026-11`, a day `2026-11-03`; `until` is the day after the last. Without any, this month."""
        where = {"month": month, "since": since, "until": until, "namespace": namespace, "user": user, "queue": queue}
        params = {"by": by, **where, "limit": limit}
        return cast("CostPage", self._http.json("GET", f"{API}/cost", params=params))

    def cost_report(self, month: str | None = None) -> CostReport:
        """A whole month, by everything, and by day."""
        return cast("CostReport", self._http.json("GET", f"{API}/cost/report", params={"month": month}))

    def cost_forecast(self, namespace: str | None = None) -> CostForecast:
        """What this month will have cost at its end: all nodes, or the work of a namespace."""
        return cast("CostForecast", self._http.json("GET", f"{API}/cost/forecast", params={"namespace": namespace}))

    def budgets(self) -> list[BudgetRow]:
        return cast("list[BudgetRow]", self._http.items(f"{API}/budgets"))

    def set_budget(
        self, namespace: str, amount: float, currency: str = "USD", *, on_limit: str = "warn", by: str = ""
    ) -> BudgetRow:
        """What the work of a namespace may cost in a month. `on_limit`: `warn`, or `refuse` new work then."""
        body = {"amount": amount, "currency": currency, "on_limit": on_limit}
        path = f"{API}/budgets/{segment(namespace, 'namespace')}"
        return cast("BudgetRow", self._http.json("PUT", path, json=body, params={"by": by}))

    def remove_budget(self, namespace: str, *, by: str = "") -> None:
        path = f"{API}/budgets/{segment(namespace, 'namespace')}"
        self._http.ask("DELETE", path, params={"by": by})
