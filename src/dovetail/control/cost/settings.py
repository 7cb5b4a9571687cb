"""Settings of the subsystem `cost`."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from dovetail.model.offer import Currency
from dovetail.model.text.quantity import Count, Duration
from dovetail.model.text.strict import Name, Strict


class OnLimit(StrEnum):
    """What happens when a budget is spent."""

    WARN = "warn"
    REFUSE = "refuse"


class Budget(Strict):
    """What the work of a namespace may cost in a month, in UTC."""

    amount: Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]
    """The most that the work of the namespace should cost in a month."""
    currency: Currency = "USD"
    """Only costs in this currency count."""
    on_limit: OnLimit = OnLimit.WARN
    """`warn`: say so; `refuse`: also refuse new work until the month ends. Work that runs goes on."""


class CostSettings(Strict):
    every: Annotated[Duration, Field(ge=0.1, le=3600)] = 30.0
    """How often costs are added up and budgets are looked at."""
    warn_at: Annotated[Count, Field(ge=1, le=100)] = 80
    """The first warning about a budget, in percent; the second one comes at 100."""
    detail_months: Annotated[Count, Field(ge=1, le=120)] = 3
    """So many months before this one are kept by day, workload and node; older ones by month, namespace, user, queue
    and backend."""
    keep_months: Annotated[Count, Field(ge=1, le=600)] = 36
    """Months before that are forgotten."""
    budgets: dict[Name, Budget] = Field(default={}, max_length=10_000)
    """Budgets by namespace. They cannot be changed by commands."""
