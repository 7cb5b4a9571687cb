"""Queries about what happened and what was used: events, attempts, unusual tasks, hours of work.

Guarantees: an attempt counts once, however often it migrated. Rows are plain dictionaries, as in `reading`.

Left to others: opening the database and explaining its errors (`sql`).
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable
from contextlib import AbstractContextManager
from functools import lru_cache
from itertools import pairwise
from typing import Any

import orjson
from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Subquery,
    and_,
    bindparam,
    case,
    func,
    literal,
    literal_column,
    or_,
    select,
    union_all,
)

from dovetail.model.task import TaskState
from dovetail.store.contract import EventFilter, ListSlice, Page, UsageFilter, UsageTotals
from dovetail.store.schema import RARE_KINDS, attempts, history, shapes, tasks, workloads
from dovetail.store.unwritten import fresh_task

SUMMARY = [column for column in workloads.columns if column.name not in ("spec_json", "shape")]

_FRESH = {column.name: getattr(fresh_task(0, 0), column.name, None) for column in tasks.columns} | {"devices": []}

#: What a person looks for first. Tasks without a row have waited from the start: nothing is unusual about them.
_RANKS = {
    TaskState.FAILED: 0,
    TaskState.STOPPING: 1,
    TaskState.PENDING: 2,
    TaskState.PLACED: 3,
    TaskState.BOUND: 3,
    TaskState.RUNNING: 6,
    TaskState.CANCELLED: 7,
    TaskState.SUCCEEDED: 8,
}
_RETRIED_RANK, _FRESH_RANK = 4, 5


class ActivityReads(ABC):
    """Over the connections that `_reading` gives."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Connection]:
        """A connection in a transaction, for one question."""

    # --- events --------------------------------------------------------------------------------------------------

    def events(
        self, where: EventFilter, limit: int, after: int = 0, before: int | None = None, *, newest_first: bool = False
    ) -> Page:
        query = select(history, workloads.c.namespace, workloads.c.name)
        query = query.outerjoin(workloads, workloads.c.id == history.c.workload)
        query = query.order_by(history.c.seq.desc() if newest_first else history.c.seq).limit(limit + 1)
        with self._reading() as connection:
            if where.since is not None:
                after = max(after, _last_before(connection, where.since))
                query = query.where(history.c.at >= where.since)  # a clock may have been set back
            query = query.where(history.c.seq > after, *_event_conditions(where))
            if before is not None:
                query = query.where(history.c.seq < before)
            found = [dict(row) for row in connection.execute(query).mappings()]
        items = found[:limit]
        return Page(items, str(items[-1]["seq"]) if len(found) > limit else None)

    # --- tasks and attempts --------------------------------------------------------------------------------------

    def unusual_tasks(self, workload_id: int, limit: int, offset: int = 0, state: str | None = None) -> ListSlice:
        wanted = and_(tasks.c.workload == workload_id, *([] if state is None else [tasks.c.state == state]))
        changed_at = func.coalesce(tasks.c.finished_at, tasks.c.started_at, tasks.c.placed_at, 0.0)
        ordered = select(tasks).where(wanted).order_by(_rank(), changed_at.desc(), tasks.c.replica)
        with self._reading() as connection:
            replicas = connection.scalar(select(workloads.c.replicas).where(workloads.c.id == workload_id)) or 0
            written = connection.execute(
                select(func.count(), func.count().filter(_rank() < _FRESH_RANK)).where(wanted)
            ).one()
            fresh: list[int] = []
            unwritten = unwritten_row(connection, workload_id)
            if state in (None, unwritten["state"]):
                known = select(tasks.c.replica).where(tasks.c.workload == workload_id)
                fresh = sorted(set(range(replicas)).difference(connection.scalars(known)))
            first, total = written[1], written[0] + len(fresh)
            # In order: rows before the tasks without one, these, the other rows.
            head = _slice(offset, limit, 0, first)
            middle = _slice(offset, limit, first, first + len(fresh))
            tail = _slice(offset, limit, first + len(fresh), total)
            items = [
                *_task_rows(connection, ordered, head.start, len(head)),
                *(unwritten | {"replica": fresh[place - first]} for place in middle),
                *_task_rows(connection, ordered, tail.start - len(fresh), len(tail)),
            ]
        return ListSlice(items, total)

    def attempts(
        self, workload_id: int, limit: int, offset: int = 0, replica: int | None = None, *, repeated: bool = False
    ) -> ListSlice:
        past = select(*_attempt_columns(attempts.c, attempts.c.ended_at, attempts.c.reason))
        latest = select(*_attempt_columns(tasks.c, tasks.c.finished_at, tasks.c.state))
        past = past.where(attempts.c.workload == workload_id)
        latest = latest.where(tasks.c.workload == workload_id, tasks.c.placed_at.is_not(None))
        if replica is not None:
            past, latest = past.where(attempts.c.replica == replica), latest.where(tasks.c.replica == replica)
        with self._reading() as connection:
            rows = [dict(row) for query in (past, latest) for row in connection.execute(query).mappings()]
        if repeated:
            several = Counter(row["replica"] for row in rows)
            rows = [row for row in rows if several[row["replica"]] > 1]
        _separate_nodes(rows)
        rows.sort(key=lambda row: (row["placed_at"], row["attempt"], row["replica"]), reverse=True)
        return ListSlice(rows[offset : offset + limit], len(rows))

    def first_placed(self, workload_id: int) -> float | None:
        firsts = [select(func.min(one.c.placed_at)).where(one.c.workload == workload_id) for one in (tasks, attempts)]
        with self._reading() as connection:
            return min((at for first in firsts if (at := connection.scalar(first)) is not None), default=None)

    def first_accepted(self, workload_id: int) -> float | None:
        wanted = history.c.kind.in_([TaskState.BOUND, TaskState.RUNNING])
        query = select(history.c.at).where(history.c.workload == workload_id, wanted)
        with self._reading() as connection:
            return connection.scalar(query.order_by(history.c.seq).limit(1))

    def run_spans(self, workload_ids: Collection[int]) -> dict[int, list[tuple[float, float | None]]]:
        repeated = select(attempts.c.workload).where(attempts.c.workload.in_(workload_ids)).distinct()
        with self._reading() as connection:
            ids = list(connection.scalars(repeated))
            found: dict[int, list[tuple[float, float | None]]] = {id_: [] for id_ in ids}
            for table, end in ((attempts, attempts.c.ended_at), (tasks, tasks.c.finished_at)):
                query = select(table.c.workload, table.c.started_at, end)
                query = query.where(table.c.workload.in_(ids), table.c.started_at.is_not(None))
                for id_, since, until in connection.execute(query):
                    found[id_].append((since, until))
        return found

    # --- usage ---------------------------------------------------------------------------------------------------

    def usage(self, where: UsageFilter, limit: int, cursor: str | None, now: float) -> Page:
        query = select(*SUMMARY, shapes.c.json.label("shape_json")).join(shapes, shapes.c.id == workloads.c.shape)
        query = query.where(*_usage_conditions(where)).order_by(workloads.c.id.desc()).limit(limit + 1)
        if cursor is not None:
            query = query.where(workloads.c.id < id_in(cursor))
        with self._reading() as connection:
            found = [dict(row) for row in connection.execute(query).mappings()]
            items = found[:limit]
            ran = _ran([row["id"] for row in items], where, now)
            used = {row.workload: row for row in connection.execute(select(ran))}
            codes = select(tasks.c.workload, func.max(tasks.c.exit_code)).group_by(tasks.c.workload)
            codes = codes.where(tasks.c.workload.in_([row["id"] for row in items]))
            exit_codes = {row[0]: row[1] for row in connection.execute(codes)}
        for row in items:
            one = used.get(row["id"])
            row["amounts"] = amounts_in(row.pop("shape_json"))
            row["attempts"], row["task_s"] = (0, 0.0) if one is None else (one.attempts, one.task_s)
            row["exit_code"] = exit_codes.get(row["id"])
        return Page(items, str(items[-1]["id"]) if len(found) > limit else None)

    def usage_totals(self, where: UsageFilter, now: float) -> UsageTotals:
        chosen = select(workloads.c.id, workloads.c.shape).where(*_usage_conditions(where)).subquery()
        ran = _ran(select(chosen.c.id), where, now)
        by_shape = (
            select(shapes.c.json, func.sum(ran.c.attempts), func.sum(ran.c.task_s))
            .join(chosen, chosen.c.shape == shapes.c.id)
            .join(ran, ran.c.workload == chosen.c.id)
            .group_by(shapes.c.id)
        )
        with self._reading() as connection:
            number = connection.scalar(select(func.count()).select_from(chosen)) or 0
            rows = connection.execute(by_shape).all()
        return UsageTotals(number, sum(row[1] for row in rows), [(amounts_in(row[0]), row[2]) for row in rows])


def id_in(cursor: str) -> int:
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
        raise ValueError(f"{cursor[:40]!r} is not a cursor that a page gave; leave it out to start from the newest")
    return int(cursor)


def unwritten_row(connection: Connection, workload_id: int) -> dict[str, Any]:
    """A task of the workload that has no row, but for its replica: by the rule of `unwritten`."""
    of_workload = tasks.c.workload == workload_id
    waiting = select(func.count()).where(of_workload, tasks.c.state == TaskState.PENDING).scalar_subquery()
    is_fresh = select(workloads.c.pending > waiting).where(workloads.c.id == workload_id)
    ended = select(tasks).where(of_workload, tasks.c.attempt == 0, tasks.c.finished_at.is_not(None))
    if not connection.scalar(is_fresh):
        last = connection.execute(ended.order_by(tasks.c.replica.desc()).limit(1)).mappings().first()
        if last is not None:
            return with_devices(dict(last))
    return _FRESH | {"workload": workload_id}


def with_devices(row: dict[str, Any]) -> dict[str, Any]:
    """The slots of the task's GPUs as a list."""
    row["devices"] = [] if row["devices"] is None else orjson.loads(row["devices"])
    return row


@lru_cache(maxsize=4096)
def amounts_in(shape_json: str) -> dict[str, int]:
    """What one task of the shape asks for, in the smallest units."""
    found: dict[str, int] = orjson.loads(shape_json)["shape"]["amounts"]
    return found


#: Whether the line of this number, or the next after it (some were deleted), is from before a time.
_IS_OLDER = (
    select(history.c.at < bindparam("at")).where(history.c.seq >= bindparam("middle")).order_by(history.c.seq).limit(1)
)


def _last_before(connection: Connection, at: float) -> int:
    """The `seq` of the last line before that time, found by halving: lines are written in the order of their times, and
    an index of times would cost every write."""
    first, last = (connection.scalar(select(end(history.c.seq))) or 0 for end in (func.min, func.max))
    before = max(0, first - 1)
    while before < last:
        middle = (before + last + 1) // 2
        is_older = connection.scalar(_IS_OLDER, {"middle": middle, "at": at})
        before, last = (middle, last) if is_older else (before, middle - 1)
    return int(before)


def _event_conditions(where: EventFilter) -> Iterable[ColumnElement[bool]]:
    if where.workloads is not None:
        yield history.c.workload.in_(where.workloads)
    for column in ("node", "backend"):
        if (wanted := getattr(where, column)) is not None:
            yield history.c[column] == wanted
    if where.replica is not None:  # what is about the whole workload is about this task as well
        yield or_(history.c.replica == where.replica, history.c.replica.is_(None))
    if where.namespace is not None:
        yield workloads.c.namespace == where.namespace
    if where.kinds:
        yield history.c.kind.in_(where.kinds)
        if set(where.kinds) <= set(RARE_KINDS):
            yield history.c.kind.in_([literal_column(f"'{kind}'") for kind in RARE_KINDS])  # as its index says it


def _rank() -> ColumnElement[int]:
    again = and_(tasks.c.state == TaskState.RUNNING, tasks.c.attempt > 1)
    known = [(tasks.c.state == str(state), literal(rank)) for state, rank in _RANKS.items()]
    return case((again, literal(_RETRIED_RANK)), *known, else_=literal(_FRESH_RANK))


def _slice(offset: int, limit: int, start: int, stop: int) -> range:
    """Which places from `start` to `stop` are among those asked for."""
    first = max(offset, start)
    return range(first, max(first, min(offset + limit, stop)))


def _task_rows(connection: Connection, ordered: Select[Any], offset: int, limit: int) -> list[dict[str, Any]]:
    if not limit:
        return []
    rows = connection.execute(ordered.limit(limit).offset(offset)).mappings()
    return [with_devices(dict(row)) for row in rows]


def _attempt_columns(source: Any, ended_at: Any, state: Any) -> list[Any]:
    same = ("workload", "replica", "attempt", "node", "backend", "placed_at", "started_at", "message", "exit_code")
    return [*(source[name] for name in same), ended_at.label("ended_at"), state.label("state")]


def _separate_nodes(rows: list[dict[str, Any]]) -> None:
    """An attempt that migrated began on each further node when it left the one before."""
    rows.sort(key=lambda row: (row["replica"], row["attempt"], row["ended_at"] is None, row["ended_at"]))
    for before, row in pairwise(rows):
        if (before["replica"], before["attempt"]) == (row["replica"], row["attempt"]):
            row["placed_at"] = row["started_at"] = before["ended_at"]


def _usage_conditions(where: UsageFilter) -> Iterable[ColumnElement[bool]]:
    yield or_(workloads.c.finished_at.is_(None), workloads.c.finished_at >= where.since)
    yield workloads.c.submitted_at <= where.until
    for name in ("namespace", "user", "state"):
        if (wanted := getattr(where, name)) is not None:
            yield workloads.c[name] == wanted
    if where.queue is not None:
        below = workloads.c.queue.startswith(f"{where.queue}/", autoescape=True)
        yield or_(workloads.c.queue == where.queue, below)
    if where.name:
        yield workloads.c.name.icontains(where.name, autoescape=True)


def _ran(ids: Any, where: UsageFilter, now: float) -> Subquery:
    """By workload: how many attempts ran, and for how many seconds, added up."""
    until = func.coalesce(tasks.c.finished_at, now)
    past = select(
        attempts.c.workload, attempts.c.replica, attempts.c.attempt, attempts.c.started_at, attempts.c.ended_at
    )
    latest = select(tasks.c.workload, tasks.c.replica, tasks.c.attempt, tasks.c.started_at, until.label("ended_at"))
    past = past.where(attempts.c.workload.in_(ids), attempts.c.started_at.is_not(None))
    latest = latest.where(tasks.c.workload.in_(ids), tasks.c.started_at.is_not(None))
    spans = union_all(past, latest).subquery()
    attempt = (spans.c.workload, spans.c.replica, spans.c.attempt)
    began, ended = func.min(spans.c.started_at).label("began"), func.max(spans.c.ended_at).label("ended")
    each = select(spans.c.workload, began, ended).group_by(*attempt).subquery()
    first: ColumnElement[float] = each.c.began
    last: ColumnElement[float] = each.c.ended
    if where.truncate:
        first = case((first < where.since, where.since), else_=first)
        last = case((last > min(where.until, now), min(where.until, now)), else_=last)
    seconds = case((last > first, last - first), else_=0.0)
    found = select(each.c.workload, func.count().label("attempts"), func.sum(seconds).label("task_s"))
    return found.group_by(each.c.workload).subquery()
