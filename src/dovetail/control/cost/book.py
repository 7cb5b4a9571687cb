"""Costs and budgets, for every thread of the server.

Guarantees: costs are added up from what the store knows, from where the tables ended to a moment before which
everything is durable; that moment and the amounts are one transaction. So a crash at any time loses nothing and counts
nothing twice. `refusals` reads memory alone and never waits.

A clock that is set back makes the time between the two count as it was charged first.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import structlog
from sqlalchemy import delete, func, insert, select

from dovetail.accounting.charging import Charges, charge
from dovetail.accounting.days import days_of_month, month_of, next_month
from dovetail.control.cost import tables
from dovetail.control.cost.budgets import BudgetStatus, Money, Spending, refusal, status_of
from dovetail.control.cost.settings import Budget, CostSettings, OnLimit
from dovetail.control.cost.tables import budgets, node_costs, warnings, work_costs
from dovetail.control.errors import Conflict, NotFound
from dovetail.model.cost_facts import NANO, CostFacts, WorkOwner
from dovetail.store.contract import StoreError
from dovetail.store.subsystem_tables import SubsystemTables

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class CostSource:
    """What it needs of the control plane. `first_price` and `facts` are the store's. `settled_at`: a moment before
    which everything is durable; asked on the thread of the control loop. `note`: makes a line of the history durable;
    awaited on that loop."""

    first_price: Callable[[], float | None]
    facts: Callable[[float, float], CostFacts]
    settled_at: Callable[[], float]
    note: Callable[[str], Coroutine[Any, Any, None]]


class CostBook:
    """Methods may block, but for `statuses` and `refusals`."""

    def __init__(self, database: SubsystemTables | None) -> None:
        assert database is not None
        self.database = database
        self.settings = CostSettings()
        self.spending = Spending()
        self._attached: CostSource | None = None
        self._lock = threading.RLock()
        self._set: Mapping[str, Budget] = {}  # by namespace: those that commands have set; replaced, never changed
        self._is_loaded = False

    def attach(self, source: CostSource, settings: CostSettings) -> None:
        self._attached, self.settings = source, settings

    @property
    def _source(self) -> CostSource:
        assert self._attached is not None, "no control plane gave its facts"
        return self._attached

    def settled_at(self) -> float:
        return self._source.settled_at()

    async def note(self, words: str) -> None:
        await self._source.note(words)

    def recall(self, now: float) -> None:
        """Budgets and what was spent, if there is anything to know. Trouble with the tables is logged: work is accepted
        all the same."""
        try:
            if self.database.exist:
                self.load(now)
        except StoreError as error:
            log.error("costs cannot be read; budgets refuse nothing", error=str(error))

    def load(self, now: float) -> None:
        """Makes the tables where there are none yet. Raises StoreError."""
        with self._lock:
            if self._is_loaded:
                return
            self.database.open()
            with self.database.reading() as connection:
                rows = connection.execute(select(budgets)).all()
                at = tables.settled_at(connection)
            self._set = {row.namespace: _budget(row.nanos, row.currency, row.on_limit) for row in rows}
            self.spending = replace(self._month_so_far(month_of(now)), at=at or 0.0)
            self._is_loaded = True

    # --- adding up -----------------------------------------------------------------------------------------------

    def settle(self, until: float) -> None:
        """Add what was spent up to `until`, before which everything is durable. Where no node ever had a price, it
        makes no tables. Raises StoreError."""
        with self._lock:
            if self.database.exist:
                self.load(until)
            since = self.spending.at or self._source.first_price()
            if since is None or until <= since:
                return
            self.load(until)
            facts = self._source.facts(since, until)
            charges = charge(facts, since, until)
            with self.database.writing() as connection:
                tables.add(connection, charges, facts.owners, until)
            self.spending = self._with(charges, facts.owners, until)

    def _with(self, charges: Charges, owners: dict[int, WorkOwner], until: float) -> Spending:
        month = month_of(until)
        rates: defaultdict[Money, int] = defaultdict(int)
        for (currency, id_), nanos in charges.rates.items():
            rates[owners[id_].namespace, currency] += nanos
        if month == self.spending.month:
            spent, idle = dict(self.spending.spent), dict(self.spending.idle)
            for (_, currency, id_), nanos in charges.work.items():
                key = owners[id_].namespace, currency
                spent[key] = spent.get(key, 0) + nanos
            for node_key, total in charges.total.items():
                key = node_key[3], node_key[1]
                idle[key] = idle.get(key, 0) + total - charges.used[node_key]
        else:
            fresh = self._month_so_far(month)
            spent, idle = dict(fresh.spent), dict(fresh.idle)
        return Spending(until, month, spent, dict(rates), idle, dict(charges.node_rates))

    def _month_so_far(self, month: str) -> Spending:
        first, after = days_of_month(month)
        work = (work_costs.c.namespace, work_costs.c.currency)
        nodes = (node_costs.c.backend, node_costs.c.currency)
        spent = select(*work, func.sum(work_costs.c.nanos)).group_by(*work)
        spent = spent.where(work_costs.c.day >= first, work_costs.c.day < after)
        idle = select(*nodes, func.sum(node_costs.c.total - node_costs.c.used)).group_by(*nodes)
        idle = idle.where(node_costs.c.day >= first, node_costs.c.day < after)
        with self.database.reading() as connection:
            by_namespace = {(row[0], row[1]): int(row[2]) for row in connection.execute(spent)}
            by_backend = {(row[0], row[1]): int(row[2]) for row in connection.execute(idle)}
        return Spending(0.0, month, by_namespace, {}, by_backend)

    def tidy(self, now: float) -> None:
        """Fold old days into months, and forget older ones."""
        if not self._is_loaded:
            return
        month, settings = month_of(now), self.settings
        detailed = next_month(month, -settings.detail_months)
        kept = next_month(month, -max(settings.keep_months, settings.detail_months))
        with self._lock, self.database.writing() as connection:
            tables.fold(connection, days_of_month(detailed)[0])
            tables.forget(connection, days_of_month(kept)[0])

    # --- budgets -------------------------------------------------------------------------------------------------

    def statuses(self, now: float) -> list[BudgetStatus]:
        """Of all budgets, by namespace."""
        given = self.settings.budgets
        return [self._status(name, now) for name in sorted({*given, *self._set})]

    def status(self, namespace: str, now: float) -> BudgetStatus:
        """Raises NotFound."""
        if namespace not in self.settings.budgets and namespace not in self._set:
            raise NotFound(f"namespace {namespace} has no budget; dovetail budget set {namespace} AMOUNT CURRENCY")
        return self._status(namespace, now)

    def _status(self, namespace: str, now: float) -> BudgetStatus:
        in_settings = namespace in self.settings.budgets
        budget = (self.settings.budgets if in_settings else self._set)[namespace]
        return status_of(namespace, budget, self.spending, now, self.settings.warn_at, in_settings=in_settings)

    def refuse(self, namespaces: Iterable[str], now: float) -> None:
        """Raises Conflict if new work of one of these namespaces is refused."""
        if not self._set and not self.settings.budgets:
            return
        for namespace in sorted(set(namespaces)):
            if namespace in self.settings.budgets or namespace in self._set:
                status = self._status(namespace, now)
                if status.refuses:
                    raise Conflict(refusal(status))

    def set_budget(self, namespace: str, budget: Budget, author: str, now: float) -> bool:
        """Durable when it returns. Whether it is new. Raises Conflict for one of the settings."""
        self._changeable(namespace)
        row = {
            "namespace": namespace,
            "currency": budget.currency,
            "nanos": round(budget.amount * NANO),
            "on_limit": str(budget.on_limit),
            "set_at": now,
            "author": author,
        }
        with self._lock:
            self.load(now)
            with self.database.writing() as connection:
                connection.execute(delete(budgets).where(budgets.c.namespace == namespace))
                connection.execute(insert(budgets).values(**row))
                # It is another budget: warnings about it are due again.
                connection.execute(delete(warnings).where(warnings.c.namespace == namespace))
            is_new = namespace not in self._set
            self._set = {**self._set, namespace: budget}
            return is_new

    def remove_budget(self, namespace: str, now: float) -> None:
        """Durable when it returns. Raises Conflict for one of the settings, NotFound."""
        self._changeable(namespace)
        with self._lock:
            self.load(now)
            self.status(namespace, now)
            with self.database.writing() as connection:
                connection.execute(delete(budgets).where(budgets.c.namespace == namespace))
                connection.execute(delete(warnings).where(warnings.c.namespace == namespace))
            self._set = {name: one for name, one in self._set.items() if name != namespace}

    def _changeable(self, namespace: str) -> None:
        if namespace in self.settings.budgets:
            words = f"the budget of namespace {namespace} stands in the settings of the server"
            raise Conflict(f"{words}; change subsystems.cost.budgets.{namespace} there and restart it")

    # --- warnings ------------------------------------------------------------------------------------------------

    def due_warnings(self, now: float) -> list[tuple[BudgetStatus, int]]:
        """Budgets of which a part is spent that nobody was warned about, with that part in percent."""
        if not self._is_loaded:  # nothing was ever spent
            return []
        found, month = [], month_of(now)
        with self.database.reading() as connection:
            query = select(warnings.c.namespace, func.max(warnings.c.percent)).where(warnings.c.month == month)
            warned = {row[0]: row[1] for row in connection.execute(query.group_by(warnings.c.namespace))}
        for status in self.statuses(now):
            reached = [percent for percent in (self.settings.warn_at, 100) if status.percent >= percent]
            if reached and max(reached) > warned.get(status.namespace, 0):
                found.append((status, max(reached)))
        return found

    def warned(self, status: BudgetStatus, percent: int) -> None:
        row = {"namespace": status.namespace, "month": status.month, "percent": percent}
        with self._lock, self.database.writing() as connection:
            connection.execute(insert(warnings).prefix_with("OR IGNORE").values(**row))


def _budget(nanos: int, currency: str, on_limit: str) -> Budget:
    return Budget(amount=nanos / NANO, currency=currency, on_limit=OnLimit(on_limit))
