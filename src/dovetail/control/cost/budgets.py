"""Budgets of namespaces in memory: how much of each is spent now, and whether new work is refused.

Guarantees: an answer takes a few lookups and waits for nobody, so that submissions can ask. What was spent since costs
were last added up is estimated from what runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from dovetail.accounting.days import month_of, next_month, start_of
from dovetail.control.cost.settings import Budget, OnLimit
from dovetail.model.cost_facts import NANO

HOUR_S = 3600.0
Money = tuple[str, str]  # namespace, currency


class BudgetState(StrEnum):
    OK = "ok"
    WARNING = "warning"
    SPENT = "spent"


@dataclass(frozen=True, slots=True)
class BudgetStatus:
    """`spent` in this month, which ends at `ends_at`. `per_hour`: what its work costs now. `spent_at`: when the rest is
    spent at that rate, if that is within the month."""

    namespace: str
    budget: Budget
    in_settings: bool
    spent: float
    per_hour: float
    state: BudgetState
    month: str
    ends_at: float
    spent_at: float | None

    @property
    def percent(self) -> float:
        return 100 * self.spent / self.budget.amount

    @property
    def refuses(self) -> bool:
        return self.state is BudgetState.SPENT and self.budget.on_limit is OnLimit.REFUSE


@dataclass(frozen=True, slots=True)
class Spending:
    """What the work of each namespace cost in a month up to `at`, and costs per hour from then on; in billionths.
    `idle`: what nobody used, by backend and currency. `machine_rates`: what all nodes cost per hour, by currency."""

    at: float = 0.0
    month: str = "1970-01"
    spent: Mapping[Money, int] = field(default_factory=dict)
    rates: Mapping[Money, int] = field(default_factory=dict)
    idle: Mapping[Money, int] = field(default_factory=dict)
    machine_rates: Mapping[str, int] = field(default_factory=dict)

    def now(self, namespace: str, currency: str, now: float) -> tuple[float, float]:
        """What was spent this month, and what is spent per hour."""
        rate, before, since = self.rates.get((namespace, currency), 0), 0, self.at
        if month_of(now) == self.month:
            before = self.spent.get((namespace, currency), 0)
        else:
            since = max(since, start_of(month_of(now)))
        return (before + rate * max(0.0, now - since) / HOUR_S) / NANO, rate / NANO


def status_of(
    namespace: str, budget: Budget, spending: Spending, now: float, warn_at: int, *, in_settings: bool
) -> BudgetStatus:
    spent, per_hour = spending.now(namespace, budget.currency, now)
    month = month_of(now)
    ends_at = start_of(next_month(month))
    state = BudgetState.OK
    if spent >= budget.amount:
        state = BudgetState.SPENT
    elif spent * 100 >= budget.amount * warn_at:
        state = BudgetState.WARNING
    left = budget.amount - spent
    spent_at = now + left / per_hour * HOUR_S if per_hour > 0 and left > 0 else None
    if spent_at is not None and spent_at >= ends_at:
        spent_at = None
    return BudgetStatus(namespace, budget, in_settings, spent, per_hour, state, month, ends_at, spent_at)


def refusal(status: BudgetStatus) -> str:
    """For the person whose work is refused: what was spent, until when, what to do."""
    budget, end = status.budget, f"{next_month(status.month)}-01 00:00 UTC"
    spent = f"{status.spent:,.2f} of {budget.amount:,.2f} {budget.currency}"
    where = "the settings of the server" if status.in_settings else f"dovetail budget set {status.namespace}"
    ways = f"wait until the month ends on {end}, raise the budget ({where}), or submit to another namespace"
    return f"the budget of namespace {status.namespace} is spent: {spent} in {status.month}; {ways}"


def warning(status: BudgetStatus, percent: int) -> str:
    """One line for the history and the log."""
    budget = status.budget
    spent = f"{status.spent:,.2f} of {budget.amount:,.2f} {budget.currency}"
    if percent < 100:
        return f"namespace {status.namespace} has spent {percent} % of its budget for {status.month}: {spent}"
    then = "; new work is refused" if budget.on_limit is OnLimit.REFUSE else ""
    return f"namespace {status.namespace} has spent its budget for {status.month}: {spent}{then}"
