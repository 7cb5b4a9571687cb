"""Routes of costs: what work and nodes have cost, a month as a whole, what it will have cost, budgets."""

from typing import Annotated, cast

from fastapi import Query, Request
from pydantic import AfterValidator, Field

from dovetail.accounting.days import days_of_month, month_of, next_month, read_day, read_month, start_of
from dovetail.api.protocol.body import MOST_ROWS, Author, model_in, plane_of
from dovetail.api.protocol.openapi import Routes, takes
from dovetail.api.protocol.replies import CreatedJson, Json, NoContent
from dovetail.control.cost.budgets import BudgetStatus
from dovetail.control.cost.settings import Budget
from dovetail.control.cost.sums import CostBy, CostQuery, CostSum, CostTotal
from dovetail.model.cost_facts import NANO
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.strict import Strict, check_name, text_format
from dovetail.responses import ItemList
from dovetail.responses.cost import (
    BudgetRow,
    CostForecast,
    CostPage,
    CostReport,
    CostRow,
    CostTables,
    CostTotalRow,
)

router = Routes(tags=["cost"])

Month = Annotated[str, AfterValidator(read_month), text_format("month", least=7, most=7)]
Day = Annotated[str, AfterValidator(read_day), text_format("day", least=10, most=10)]


class CostsQuery(Strict):
    """A month, or days from `since` to the one before `until`; without any, this month. `namespace`, `user` and `queue`
    choose work, so they do not go with nodes and backends. `limit`: so many of each currency."""

    by: CostBy = CostBy.NAMESPACE
    month: Month | None = None
    since: Day | None = None
    until: Day | None = None
    namespace: str | None = None
    user: str | None = None
    queue: str | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = MOST_ROWS


class MonthQuery(Strict):
    """Without a month, this one."""

    month: Month | None = None


@router.get("/cost")
async def costs(request: Request, query: Annotated[CostsQuery, Query()]) -> Json[CostPage]:
    """What work has cost, by workload, user, namespace or queue; or what nodes and backends have cost, with what nobody
    used. Up to now, the largest first."""
    desk = plane_of(request).cost
    where = _asked(query, desk.book.settled_at())
    found = await desk.costs(where)
    return Json(
        {
            "by": str(where.by),
            "since": where.since,
            "until": where.until,
            "at": found.at,
            "items": [_row(one) for one in found.rows],
            "left_off": found.left_off,
            "totals": [_total(one) for one in found.totals],
        }
    )


def _asked(query: CostsQuery, now: float) -> CostQuery:
    def refused(field: str, words: str) -> Invalid:
        return Invalid([Complaint("query parameter", None, field, words)])

    if query.month is not None and (query.since or query.until):
        raise refused("month", "goes without since and until; name a month or days")
    since, until = days_of_month(query.month or month_of(now))
    since, until = query.since or since, query.until or until
    if query.since and not query.until:
        until = f"{next_month(month_of(now))}-01"
    if since >= until:
        raise refused("until", f"{until} is not after {since}; it names the day after the last one that counts")
    where = CostQuery(query.by, since, until, query.namespace, query.user, query.queue, query.limit)
    if where.by.of_nodes and where.chooses:
        raise refused("by", f"{where.by} goes without namespace, user and queue: nodes are not divided by work")
    return where


@router.get("/cost/report")
async def cost_report(request: Request, query: Annotated[MonthQuery, Query()]) -> Json[CostReport]:
    """A whole month, by everything, and by day."""
    desk = plane_of(request).cost
    found = await desk.report(query.month or month_of(desk.book.settled_at()))
    days = [
        {"day": one.day, "currency": one.currency, "work": _money(one.work), "idle": _money(one.idle)}
        for one in found.days
    ]
    body = {
        "month": found.month,
        "at": found.at,
        "totals": [_total(one) for one in found.totals],
        "days": days,
        "by": cast("CostTables", {str(by): [_row(one) for one in rows] for by, rows in found.tables.items()}),
        "budgets": [_budget(one) for one in found.budgets],
    }
    return Json(cast("CostReport", body))


@router.get("/cost/forecast")
async def cost_forecast(request: Request, namespace: str | None = None) -> Json[CostForecast]:
    """What this month will have cost at its end: all nodes, or the work of a namespace."""
    at, found = await plane_of(request).cost.forecast(namespace)
    month = month_of(at)
    return Json(
        {
            "month": month,
            "at": at,
            "ends_at": start_of(next_month(month)),
            "namespace": namespace,
            "items": [
                {
                    "currency": currency,
                    "spent": round(one.spent, 9),
                    "expected": round(one.expected, 9),
                    "low": round(one.low, 9),
                    "high": round(one.high, 9),
                    "per_hour": round(one.per_hour, 9),
                    "mean_day": None if one.mean_day is None else round(one.mean_day, 9),
                    "days": one.days,
                }
                for currency, one in found.items()
            ],
        }
    )


@router.get("/budgets")
async def budgets(request: Request) -> Json[ItemList[BudgetRow]]:
    """Budgets by namespace, and how much of each is spent this month."""
    return Json({"items": [_budget(one) for one in await plane_of(request).cost.budgets()]})


@router.put("/budgets/{namespace}", openapi_extra=takes(Budget))
async def set_budget(request: Request, namespace: str, author: Author = "") -> CreatedJson[BudgetRow] | Json[BudgetRow]:
    """Set what the work of a namespace may cost in a month. At `warn_at` percent (80) and at 100 the history says so;
    with `on_limit: refuse`, new work is refused when all is spent."""
    try:
        check_name(namespace)
    except ValueError as error:
        raise Invalid([Complaint("path", None, "namespace", str(error))]) from None
    wanted = await model_in(request, Budget)
    status, is_new = await plane_of(request).cost.set_budget(namespace, wanted, author)
    return CreatedJson(_budget(status)) if is_new else Json(_budget(status))


@router.delete("/budgets/{namespace}")
async def remove_budget(request: Request, namespace: str, author: Author = "") -> NoContent:
    """Remove the budget of a namespace: its work may cost anything again."""
    await plane_of(request).cost.remove_budget(namespace, author)
    return NoContent()


def _money(nanos: int) -> float:
    return round(nanos / NANO, 9)


def _row(one: CostSum) -> CostRow:
    return {
        "name": one.name,
        "currency": one.currency,
        "cost": _money(one.nanos),
        "idle": None if one.idle is None else _money(one.idle),
        "namespace": one.namespace,
        "workload": one.workload,
        "backend": one.backend,
    }


def _total(one: CostTotal) -> CostTotalRow:
    return {
        "currency": one.currency,
        "work": _money(one.work),
        "idle": None if one.idle is None else _money(one.idle),
        "total": None if one.total is None else _money(one.total),
    }


def _budget(one: BudgetStatus) -> BudgetRow:
    return {
        "namespace": one.namespace,
        "amount": one.budget.amount,
        "currency": one.budget.currency,
        "on_limit": str(one.budget.on_limit),
        "state": str(one.state),
        "spent": round(one.spent, 9),
        "left": round(one.budget.amount - one.spent, 9),
        "percent": round(one.percent, 3),
        "per_hour": round(one.per_hour, 9),
        "month": one.month,
        "ends_at": one.ends_at,
        "spent_at": one.spent_at,
        "in_settings": one.in_settings,
    }
