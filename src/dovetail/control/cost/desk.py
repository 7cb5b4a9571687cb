"""Costs and budgets for the API: each answer holds everything up to the moment it is asked for."""

import time
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection

from dovetail.accounting.days import days_of_month
from dovetail.accounting.forecasting import MonthForecast
from dovetail.control.cost import sums
from dovetail.control.cost.book import CostBook
from dovetail.control.cost.budgets import BudgetStatus
from dovetail.control.cost.settings import Budget
from dovetail.control.cost.sums import CostBy, CostQuery, CostSum, CostTotal, DayCost
from dovetail.control.cost.tables import settled_at
from dovetail.control.loop.history import signed
from dovetail.control.loop.store_access import on_store_thread

MOST_IN_REPORT = 500  # rows of each table


@dataclass(frozen=True, slots=True)
class CostAnswer:
    """`left_off`: how many smaller rows are not in `rows`."""

    at: float
    rows: list[CostSum]
    left_off: int
    totals: list[CostTotal]


@dataclass(frozen=True, slots=True)
class MonthReport:
    at: float
    month: str
    totals: list[CostTotal]
    tables: dict[CostBy, list[CostSum]]
    days: list[DayCost]
    budgets: list[BudgetStatus]


class CostDesk:
    def __init__(self, book: CostBook) -> None:
        self.book = book

    def refuse_over_budget(self, namespaces: Iterable[str]) -> None:
        """Raises Conflict if the budget of one of these namespaces is spent and refuses new work."""
        self.book.refuse(namespaces, time.time())

    def _settle(self, until: float) -> None:
        self.book.settle(until)
        self.book.load(until)

    # --- asking --------------------------------------------------------------------------------------------------

    async def costs(self, query: CostQuery) -> CostAnswer:
        return await on_store_thread(self._costs, query, self.book.settled_at())

    def _costs(self, query: CostQuery, until: float) -> CostAnswer:
        self._settle(until)
        with self.book.database.reading() as connection:
            found, left_off = sums.rows(connection, query)
            return CostAnswer(_as_of(connection, until), found, left_off, sums.totals(connection, query))

    async def report(self, month: str) -> MonthReport:
        return await on_store_thread(self._report, month, self.book.settled_at())

    def _report(self, month: str, until: float) -> MonthReport:
        self._settle(until)
        since, end = days_of_month(month)
        queries = {by: CostQuery(by, since, end, limit=MOST_IN_REPORT) for by in CostBy}
        with self.book.database.reading() as connection:
            tables = {by: sums.rows(connection, query)[0] for by, query in queries.items()}
            whole = sums.totals(connection, queries[CostBy.NAMESPACE])
            days = sums.days(connection, since, end)
            at = _as_of(connection, until)
        budgets = [one for one in self.book.statuses(at) if one.month == month]
        return MonthReport(at, month, whole, tables, days, budgets)

    async def forecast(self, namespace: str | None) -> tuple[float, dict[str, MonthForecast]]:
        """The moment it was made, and a forecast for each currency."""
        until = self.book.settled_at()

        def asked() -> dict[str, MonthForecast]:
            self._settle(until)
            with self.book.database.reading() as connection:
                return sums.forecasts(connection, self.book.spending, namespace, until)

        return until, await on_store_thread(asked)

    # --- budgets -------------------------------------------------------------------------------------------------

    async def budgets(self) -> list[BudgetStatus]:
        until = self.book.settled_at()
        await on_store_thread(self._settle, until)
        return self.book.statuses(until)

    async def set_budget(self, namespace: str, budget: Budget, author: str) -> tuple[BudgetStatus, bool]:
        """Its status, and whether it is new. Raises Conflict."""
        now = time.time()
        await on_store_thread(self._settle, self.book.settled_at())
        is_new = await on_store_thread(self.book.set_budget, namespace, budget, author, now)
        words = f"budget of namespace {namespace}: {budget.amount:,.2f} {budget.currency} a month, {budget.on_limit}"
        await self.book.note(signed(words, author, ""))
        return self.book.status(namespace, now), is_new

    async def remove_budget(self, namespace: str, author: str) -> None:
        """Raises Conflict and NotFound."""
        await on_store_thread(self.book.remove_budget, namespace, time.time())
        await self.book.note(signed(f"budget of namespace {namespace} removed", author, ""))


def _as_of(connection: Connection, until: float) -> float:
    """The time of the sums that are read here: somebody else may have settled later costs meanwhile."""
    return settled_at(connection) or until
