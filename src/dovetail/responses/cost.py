"""Answers about what work costs, and budgets. Amounts are in the currency beside them; days and months are in UTC."""

from typing_extensions import TypedDict


class CostRow(TypedDict):
    """`name`: of the workload, user, namespace, queue, node or backend; empty: none, or sums of old months. `idle`:
    what nobody used, of nodes and backends. `workload`: its id, 0 for sums of old months."""

    name: str
    currency: str
    cost: float
    idle: float | None
    namespace: str | None
    workload: int | None
    backend: str | None


class CostTotalRow(TypedDict):
    """`total` is what all nodes cost: `work` and `idle`. Both are null where only some work was asked for."""

    currency: str
    work: float
    idle: float | None
    total: float | None


class CostPage(TypedDict):
    """Days from `since` to the one before `until`, as far as they are over at `at`. Of each currency the largest first;
    `left_off`: how many smaller rows there are. `totals` are of all rows, one for each currency."""

    by: str
    since: str
    until: str
    at: float
    items: list[CostRow]
    left_off: int
    totals: list[CostTotalRow]


class CostDayRow(TypedDict):
    day: str
    currency: str
    work: float
    idle: float


class BudgetRow(TypedDict):
    """`spent` in `month`, which ends at `ends_at`; `left` is below 0 when it is over. `per_hour`: what the work of the
    namespace costs now. `spent_at`: when the rest is spent at that rate, if within the month. `state`: `ok`, `warning`
    or `spent`. `in_settings`: it cannot be changed by requests."""

    namespace: str
    amount: float
    currency: str
    on_limit: str
    state: str
    spent: float
    left: float
    percent: float
    per_hour: float
    month: str
    ends_at: float
    spent_at: float | None
    in_settings: bool


class ForecastRow(TypedDict):
    """What the month will have cost: probably `expected`, between `low` and `high` in four of five cases. `per_hour`:
    what it costs now. `mean_day`: the mean of the last whole `days`, if there are any; with fewer than three the
    range is from nothing more to all going on as it is now."""

    currency: str
    spent: float
    expected: float
    low: float
    high: float
    per_hour: float
    mean_day: float | None
    days: int


class CostForecast(TypedDict):
    """Of one namespace its work; else all nodes, used or not."""

    month: str
    at: float
    ends_at: float
    namespace: str | None
    items: list[ForecastRow]


class CostTables(TypedDict):
    """By each of these, the largest first; at most 500 rows."""

    namespace: list[CostRow]
    user: list[CostRow]
    queue: list[CostRow]
    workload: list[CostRow]
    node: list[CostRow]
    backend: list[CostRow]


class CostReport(TypedDict):
    """One month, as far as it is over at `at`. `budgets` only of the present month."""

    month: str
    at: float
    totals: list[CostTotalRow]
    days: list[CostDayRow]
    by: CostTables
    budgets: list[BudgetRow]
