"""The book of costs: a crash loses and doubles nothing, old days are folded, budgets are told right."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from dovetail.accounting.days import start_of
from dovetail.control.cost import tables
from dovetail.control.cost.book import CostBook, CostSource
from dovetail.control.cost.budgets import BudgetState
from dovetail.control.cost.settings import Budget, CostSettings, OnLimit
from dovetail.control.cost.sums import CostBy, CostQuery, days, forecasts, rows, totals
from dovetail.control.errors import Conflict, NotFound
from dovetail.control.subsystems.registry import BUILT_IN
from dovetail.model.cost_facts import NANO, CostFacts, Holding, NodePrice, WorkOwner
from dovetail.store.contract import StoreError
from dovetail.store.subsystem_tables import SubsystemTables

FIRST = start_of("2026-08-01")
DAY_S = 86400.0
YEAR = "2026-01-01", "2027-01-01"

#: One node at 24 a day from August on; `train` holds half of it in the first half of each day.
PRICES = [NodePrice("n1", FIRST, "cloud", "USD", NANO, True, 8000, 0, 0)]
OWNERS = {
    1: WorkOwner("team", "train", "ada", "default", {"cpu": 4000}),
    2: WorkOwner("other", "serve", "", "default", {"cpu": 8000}),
}
HOLDINGS = [Holding(1, "n1", FIRST + day * DAY_S, FIRST + (day + 0.5) * DAY_S) for day in range(150)]


def facts(_since: float, _until: float) -> CostFacts:
    return CostFacts(PRICES, HOLDINGS, OWNERS)


@pytest.fixture
def book_of(tmp_path: Path) -> Iterator[Callable[..., CostBook]]:
    made: list[SubsystemTables] = []

    def make(source: Callable[[float, float], CostFacts] = facts, **settings: object) -> CostBook:
        """As another process would have it, after the one before is gone."""
        for before in made:
            before.close()
        revisions = BUILT_IN["cost"].migrations
        assert revisions is not None
        made.append(SubsystemTables("cost", tmp_path / "tables.db", revisions))
        book = CostBook(made[-1])

        async def note(_: str) -> None: ...

        book.attach(CostSource(lambda: FIRST, source, lambda: 0.0, note), CostSettings.model_validate(settings))
        return book

    yield make
    for one in made:
        one.close()


def summed(book: CostBook, by: CostBy = CostBy.NAMESPACE) -> dict[str, float]:
    with book.database.reading() as connection:
        return {row.name: row.nanos / NANO for row in rows(connection, CostQuery(by, *YEAR))[0]}


def test_a_crash_between_two_looks_loses_and_doubles_nothing(book_of: Callable[..., CostBook]) -> None:
    book_of().settle(FIRST + 0.2 * DAY_S)
    book_of().settle(FIRST + 0.3 * DAY_S)
    book = book_of()
    book.settle(FIRST + DAY_S)
    book.settle(FIRST + DAY_S)
    assert summed(book) == {"team": 6.0}  # half of 24 for half a day
    with book.database.reading() as connection:
        [total] = totals(connection, CostQuery(CostBy.NODE, *YEAR))
    assert (total.work, total.idle, total.total) == (6 * NANO, 18 * NANO, 24 * NANO)


def test_what_could_not_be_written_is_added_with_the_next_look(
    book_of: Callable[..., CostBook], monkeypatch: pytest.MonkeyPatch
) -> None:
    book = book_of()
    book.settle(FIRST + 0.1 * DAY_S)
    real = tables.add

    def fails_late(*given: object) -> None:
        real(*given)  # type: ignore[arg-type]
        raise StoreError("the disk is full")

    monkeypatch.setattr(tables, "add", fails_late)
    with pytest.raises(StoreError):
        book.settle(FIRST + 0.2 * DAY_S)
    monkeypatch.undo()
    book.settle(FIRST + DAY_S)
    assert summed(book) == {"team": 6.0}
    assert book.spending.spent == {("team", "USD"): 6 * NANO}


def test_memory_is_what_the_tables_say_also_after_a_restart_and_in_a_new_month(
    book_of: Callable[..., CostBook],
) -> None:
    book = book_of()
    book.settle(FIRST + 10 * DAY_S)
    assert book.spending.spent == {("team", "USD"): 60 * NANO}
    again = book_of()
    again.recall(FIRST + 10 * DAY_S)
    assert (again.spending.spent, again.spending.idle) == (book.spending.spent, book.spending.idle)
    again.settle(FIRST + 33 * DAY_S)  # two days of September
    assert again.spending.spent == {("team", "USD"): 12 * NANO}
    assert again.spending.idle == {("cloud", "USD"): 36 * NANO}


def test_old_days_become_months_and_older_ones_go(book_of: Callable[..., CostBook]) -> None:
    book = book_of(detail_months=1, keep_months=2)
    book.settle(start_of("2026-11-05"))
    before = summed(book), summed(book, CostBy.USER), summed(book, CostBy.BACKEND)
    book.tidy(start_of("2026-10-05"))  # details of September and October stay, August is folded
    book.tidy(start_of("2026-10-05"))
    assert (summed(book), summed(book, CostBy.USER), summed(book, CostBy.BACKEND)) == before
    assert summed(book, CostBy.WORKLOAD) == {"train": 65 * 6.0, "": 31 * 6.0}
    with book.database.reading() as connection:
        august = connection.execute(select(tables.work_costs).where(tables.work_costs.c.day < "2026-09-01")).all()
        assert [(row.day, row.workload, row.nanos) for row in august] == [("2026-08-01", 0, 31 * 6 * NANO)]
        assert len(days(connection, "2026-09-01", "2026-10-01")) == 30
    book.tidy(start_of("2026-11-05"))
    assert summed(book) == {"team": 65 * 6.0}, "August is forgotten, September is a month"


def test_a_budget_is_told_with_what_was_spent_since_the_last_look(book_of: Callable[..., CostBook]) -> None:
    book = book_of()
    book.settle(FIRST + 0.25 * DAY_S)  # 3 spent, at 0.5 an hour
    book.set_budget("team", Budget(amount=4.0, on_limit=OnLimit.REFUSE), "ada", FIRST)
    at = FIRST + 0.25 * DAY_S
    assert book.status("team", at).state is BudgetState.OK
    assert book.status("team", at).spent_at == at + 2 * 3600
    assert book.status("team", at + 3600).state is BudgetState.WARNING
    book.refuse(["team", "other"], at + 3600)
    with pytest.raises(Conflict, match=r"of namespace team is spent: 4\.00 of 4\.00 USD in 2026-08; wait until"):
        book.refuse(["team", "other"], at + 2 * 3600)
    book.refuse(["other"], at + 2 * 3600)
    assert book.status("team", start_of("2026-09-01") + 3600).spent == 0.5, "a new month begins from nothing"


def test_budgets_and_warnings_survive_a_restart(book_of: Callable[..., CostBook]) -> None:
    book, at = book_of(), FIRST + DAY_S
    book.settle(at)  # 6 spent
    book.set_budget("team", Budget(amount=6.5), "ada", at)
    [(status, percent)] = book.due_warnings(at)
    assert percent == 80
    book.warned(status, percent)
    again = book_of()
    again.recall(at)
    assert again.due_warnings(at) == []
    again.settle(FIRST + 2 * DAY_S)
    assert [percent for _, percent in again.due_warnings(FIRST + 2 * DAY_S)] == [100]
    again.remove_budget("team", at)
    with pytest.raises(NotFound, match="has no budget"):
        book_of().remove_budget("team", at)


def test_the_forecast_goes_by_the_last_whole_days(book_of: Callable[..., CostBook]) -> None:
    book, now = book_of(), start_of("2026-09-11")
    book.settle(now)
    with book.database.reading() as connection:
        [machines] = forecasts(connection, book.spending, None, now).values()
        [team] = forecasts(connection, book.spending, "team", now).values()
    assert (machines.spent, machines.mean_day, machines.expected) == (240.0, 24.0, 30 * 24.0)
    # the rest of today at what runs now (nothing of the team's, or half a node from midnight on), then 6 a day
    assert (team.spent, team.mean_day) == (60.0, 6.0)
    assert team.expected == pytest.approx(60.0 + 24 * team.per_hour + 19 * 6.0)
