"""Which workloads a list holds and in which order, as SQL.

Guarantees: an order is total, since the newest of equal ones comes first. Pages of the default order, newest first, go
on
where the last id was seen; pages of other orders go by their place, since what they are sorted by may change meanwhile.
"""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import ColumnElement, case, func, or_

from dovetail.model.task import WorkloadState
from dovetail.model.workloads.workload import Priority
from dovetail.store.contract import WorkloadFilter
from dovetail.store.schema import UNFINISHED, workloads

_PLACE = "at-"
_MOST_DIGITS = 12


def conditions(where: WorkloadFilter, *, any_state: bool = False) -> Iterable[ColumnElement[bool]]:
    """`any_state`: without the conditions about states."""
    for name in ("namespace", "user", "service", "priority"):
        if (wanted := getattr(where, name)) is not None:
            yield workloads.c[name] == wanted
    if where.queue is not None:
        below = workloads.c.queue.startswith(f"{where.queue}/", autoescape=True)
        yield or_(workloads.c.queue == where.queue, below)
    if where.name:
        yield workloads.c.name.icontains(where.name, autoescape=True)
    if any_state:
        return
    if where.state is not None:
        yield workloads.c.state == where.state
    if where.states:
        yield workloads.c.state.in_(where.states)
    if where.unfinished:
        yield workloads.c.state.in_(UNFINISHED)


def ordering(sort: str, now: float) -> list[ColumnElement[Any]]:
    """`sort` as `WorkloadSort` writes it."""
    key = sort.removeprefix("-")
    column = _key(key, now)
    return [column.desc() if sort.startswith("-") else column.asc(), workloads.c.id.desc()]


def _key(name: str, now: float) -> ColumnElement[Any]:
    if name == "state":
        return _ranked(workloads.c.state, WorkloadState)
    if name == "priority":
        return _ranked(workloads.c.priority, Priority)
    if name == "wait":
        return func.coalesce(workloads.c.started_at, workloads.c.finished_at, now) - workloads.c.submitted_at
    if name == "submitted":
        return workloads.c.submitted_at.expression
    return func.lower(workloads.c[name])


def _ranked(column: ColumnElement[Any], words: Iterable[str]) -> ColumnElement[int]:
    """In the order in which they are declared: life of a workload, urgency."""
    return case({str(word): rank for rank, word in enumerate(words)}, value=column, else_=len(list(words)))


def place_in(cursor: str) -> int | None:
    """Where the next page of an order begins; None for a cursor of the default order."""
    digits = cursor.removeprefix(_PLACE)
    if digits == cursor or not (digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS):
        return None
    return int(digits)


def cursor_at(place: int) -> str:
    return f"{_PLACE}{place}"
