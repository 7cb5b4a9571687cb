"""Sums over the ledger: by workload, user, namespace, queue, node or backend; by day; a forecast of the month."""

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Select, func, select

from dovetail.accounting.days import day_of, days_of_month, month_of, next_day
from dovetail.accounting.forecasting import RECENT_DAYS, MonthForecast, forecast
from dovetail.control.cost.budgets import Spending
from dovetail.control.cost.tables import node_costs, work_costs
from dovetail.model.cost_facts import NANO


class CostBy(StrEnum):
    WORKLOAD = "workload"
    USER = "user"
    NAMESPACE = "namespace"
    QUEUE = "queue"
    NODE = "node"
    BACKEND = "backend"

    @property
    def of_nodes(self) -> bool:
        return self in (CostBy.NODE, CostBy.BACKEND)


@dataclass(frozen=True, slots=True)
class CostQuery:
    """Days from `since` to the one before `until`. `namespace`, `user`, `queue`: only this work. `limit`: of each
    currency."""

    by: CostBy
    since: str
    until: str
    namespace: str | None = None
    user: str | None = None
    queue: str | None = None
    limit: int = 1000

    @property
    def chooses(self) -> bool:
        return any(one is not None for one in (self.namespace, self.user, self.queue))


@dataclass(frozen=True, slots=True)
class CostSum:
    """Amounts in billionths. `idle` is None where nodes are not looked at. `workload` 0: several, of old months."""

    name: str
    currency: str
    nanos: int
    idle: int | None = None
    namespace: str | None = None
    workload: int | None = None
    backend: str | None = None


@dataclass(frozen=True, slots=True)
class CostTotal:
    """`idle` and `total` are None where only some work was asked for."""

    currency: str
    work: int
    idle: int | None
    total: int | None


@dataclass(frozen=True, slots=True)
class DayCost:
    day: str
    currency: str
    work: int
    idle: int


def rows(connection: Connection, query: CostQuery) -> tuple[list[CostSum], int]:
    """Of each currency the largest first, and how many rows were left off."""
    return (_node_rows if query.by.of_nodes else _work_rows)(connection, query)


def _largest(connection: Connection, asked: Select[Any], most: int) -> tuple[list[Any], int]:
    """So many of each currency: the first column is the currency, the last one the amount."""
    inner = asked.subquery()
    number = connection.scalar(select(func.count()).select_from(inner)) or 0
    currency, *names, amount = inner.columns
    place = func.row_number().over(partition_by=currency, order_by=[amount.desc(), *names]).label("place")
    placed = select(inner, place).subquery()
    first = select(placed).where(placed.c.place <= most).order_by(placed.columns[0], placed.c.place)
    found = connection.execute(first).all()
    return list(found), number - len(found)


def _work_rows(connection: Connection, query: CostQuery) -> tuple[list[CostSum], int]:
    columns, by_workload = work_costs.c, query.by is CostBy.WORKLOAD
    keys = [columns.workload, columns.namespace, columns.name] if by_workload else [columns[query.by]]
    keys = [columns.currency, *keys]
    asked = select(*keys, func.sum(columns.nanos).label("nanos")).where(*_chosen(query)).group_by(*keys)
    found, left = _largest(connection, asked, query.limit)
    if by_workload:
        sums = [CostSum(row.name, row[0], int(row.nanos), None, row.namespace, row.workload) for row in found]
    else:
        sums = [CostSum(row[1], row[0], int(row[2])) for row in found]
    return sums, left


def _chosen(query: CostQuery) -> list[Any]:
    columns = work_costs.c
    found: list[Any] = [columns.day >= query.since, columns.day < query.until]
    found += [columns[name] == one for name in ("namespace", "user") if (one := getattr(query, name)) is not None]
    if query.queue is not None:
        below = columns.queue.startswith(f"{query.queue}/", autoescape=True)
        found.append((columns.queue == query.queue) | below)
    return found


def _node_rows(connection: Connection, query: CostQuery) -> tuple[list[CostSum], int]:
    columns = node_costs.c
    keys = [columns.currency, columns.backend] + ([columns.node] if query.by is CostBy.NODE else [])
    asked = select(*keys, func.sum(columns.used).label("used"), func.sum(columns.total).label("total")).group_by(*keys)
    asked = asked.where(columns.day >= query.since, columns.day < query.until)
    found, left = _largest(connection, asked, query.limit)
    sums = [
        CostSum(
            row.node if query.by is CostBy.NODE else row.backend,
            *(row.currency, int(row.used), int(row.total) - int(row.used)),
            backend=row.backend,
        )
        for row in found
    ]
    return sums, left


def totals(connection: Connection, query: CostQuery) -> list[CostTotal]:
    """One for each currency."""
    columns = work_costs.c
    work = select(columns.currency, func.sum(columns.nanos)).where(*_chosen(query)).group_by(columns.currency)
    by_currency = {row[0]: int(row[1]) for row in connection.execute(work)}
    if query.chooses:
        return [CostTotal(currency, nanos, None, None) for currency, nanos in sorted(by_currency.items())]
    nodes = select(node_costs.c.currency, func.sum(node_costs.c.total)).group_by(node_costs.c.currency)
    nodes = nodes.where(node_costs.c.day >= query.since, node_costs.c.day < query.until)
    machines = {row[0]: int(row[1]) for row in connection.execute(nodes)}
    return [
        CostTotal(one, by_currency.get(one, 0), machines.get(one, 0) - by_currency.get(one, 0), machines.get(one, 0))
        for one in sorted({*by_currency, *machines})
    ]


def days(connection: Connection, since: str, until: str) -> list[DayCost]:
    columns = node_costs.c
    asked = select(columns.day, columns.currency, func.sum(columns.used), func.sum(columns.total))
    asked = asked.where(columns.day >= since, columns.day < until).group_by(columns.day, columns.currency)
    return [
        DayCost(day, currency, int(used), int(total) - int(used))
        for day, currency, used, total in connection.execute(asked.order_by(columns.day, columns.currency))
    ]


def forecasts(
    connection: Connection, spending: Spending, namespace: str | None, now: float
) -> dict[str, MonthForecast]:
    """By currency: what the month will have cost. Of a namespace its work; else all machines, idle or not."""
    today, month = day_of(now), days_of_month(month_of(now))
    earliest = min(next_day(today, -RECENT_DAYS), month[0])
    by_day: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for day, currency, nanos in connection.execute(_daily(namespace, earliest)):
        by_day[currency][day] = int(nanos)
    first = connection.scalar(select(func.min(node_costs.c.day))) or today
    rates = spending.machine_rates
    if namespace is not None:
        rates = {currency: rate for (name, currency), rate in spending.rates.items() if name == namespace}
    found = {}
    for currency in sorted({*by_day, *rates}):
        costs = by_day[currency]
        spent = sum(nanos for day, nanos in costs.items() if day >= month[0])
        recent = [next_day(today, -back) for back in range(1, RECENT_DAYS + 1)]
        # The first day of all was not a whole one.
        whole = [costs.get(day, 0) / NANO for day in recent if day > first]
        found[currency] = forecast(spent / NANO, rates.get(currency, 0) / NANO, whole, now)
    return found


def _daily(namespace: str | None, since: str) -> Select[Any]:
    if namespace is None:
        columns = node_costs.c
        query = select(columns.day, columns.currency, func.sum(columns.total))
        return query.where(columns.day >= since).group_by(columns.day, columns.currency)
    work = work_costs.c
    query = select(work.day, work.currency, func.sum(work.nanos))
    return query.where(work.day >= since, work.namespace == namespace).group_by(work.day, work.currency)
