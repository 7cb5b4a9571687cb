"""Queries for the API, each on one consistent snapshot, concurrent with writes.

Guarantees: rows come back as plain dictionaries named by column; JSON columns are parsed; pages are newest first and
stay where they are while rows are added, because a cursor names the last id that was seen.

Left to others: opening the database and explaining its errors (`sql`).
"""

from collections.abc import Collection
from typing import Any, TypeVar

import orjson
from sqlalchemy import ColumnElement, Connection, Select, func, select, text, tuple_

from dovetail.model.reason import explanation_dict
from dovetail.model.record import BackendRecord, TokenRecord
from dovetail.model.task import WorkloadState
from dovetail.store import workload_list
from dovetail.store.activity import SUMMARY, id_in, unwritten_row, with_devices
from dovetail.store.contract import DecisionPlace, Page, WorkloadFilter
from dovetail.store.cost_facts import CostReads
from dovetail.store.schema import (
    HOLDS_NODE,
    UNFINISHED,
    backends,
    decisions,
    history,
    idempotency,
    policies,
    shapes,
    tasks,
    tokens,
    workloads,
)

T = TypeVar("T")


class Reads(CostReads):
    """The questions of `contract.Store`, over the connections that `_reading` gives."""

    def workload(self, workload_id: int) -> dict[str, Any] | None:
        return self._one_workload(_whole_workloads().where(workloads.c.id == workload_id))

    def find_workload(self, namespace: str, name: str) -> dict[str, Any] | None:
        query = _whole_workloads().where(workloads.c.namespace == namespace, workloads.c.name == name)
        return self._one_workload(query.order_by(workloads.c.id.desc()).limit(1))

    def find_everywhere(self, name: str) -> list[dict[str, Any]]:
        newest = select(func.max(workloads.c.id)).where(workloads.c.name == name)
        with self._reading() as connection:
            namespaces = _namespaces(connection)
            ids = [connection.scalar(newest.where(workloads.c.namespace == one)) for one in namespaces]
        found = self._whole(_whole_workloads().where(workloads.c.id.in_([id_ for id_ in ids if id_ is not None])))
        return sorted(found, key=lambda row: str(row["namespace"]))

    def namespaces(self) -> list[str]:
        with self._reading() as connection:
            return _namespaces(connection)

    def in_group(self, group: str, newest: int) -> list[dict[str, Any]]:
        last = select(func.max(workloads.c.id)).scalar_subquery()
        mentioned = workloads.c.spec_json.contains(f'"{group}"', autoescape=True)
        query = _whole_workloads().where(workloads.c.id > last - newest, mentioned).order_by(workloads.c.id)
        return [row for row in self._whole(query) if (row["spec"].get("gang") or {}).get("group") == group]

    def with_role(self, role: str) -> list[dict[str, Any]]:
        of_role = workloads.c.name.endswith(f"-{role}", autoescape=True)
        return self._whole(_whole_workloads().where(workloads.c.state.in_(UNFINISHED), of_role))

    def recent_names(self, limit: int) -> list[dict[str, Any]]:
        newest = select(workloads.c.namespace, workloads.c.name).order_by(workloads.c.id.desc()).limit(limit)
        found = {(row["namespace"], row["name"]): row for row in self._rows(newest)}
        return list(found.values())

    def _one_workload(self, query: Select[Any]) -> dict[str, Any] | None:
        return next(iter(self._whole(query)), None)

    def _whole(self, query: Select[Any]) -> list[dict[str, Any]]:
        found = self._rows(query)
        for row in found:
            row["spec"] = orjson.loads(row.pop("spec_json"))
        return found

    def workloads(
        self, where: WorkloadFilter, limit: int, cursor: str | None, sort: str = "", offset: int = 0, now: float = 0.0
    ) -> Page:
        query = select(*SUMMARY).where(*workload_list.conditions(where)).limit(limit + 1)
        if sort:
            offset += _place(cursor)
            # First the ids alone: sorting whole rows would read the definitions of all workloads.
            ids = select(workloads.c.id).where(*workload_list.conditions(where))
            ids = ids.order_by(*workload_list.ordering(sort, now)).limit(limit + 1).offset(offset)
            query = select(*SUMMARY).where(workloads.c.id.in_(ids)).order_by(*workload_list.ordering(sort, now))
        else:
            query = query.order_by(workloads.c.id.desc()).offset(offset)
            if cursor is not None:
                query = query.where(workloads.c.id < id_in(cursor))
        found = self._rows(query)
        # One row more than asked for tells whether there is a next page.
        items = found[:limit]
        if len(found) <= limit or not items:
            return Page(items, None)
        return Page(items, workload_list.cursor_at(offset + limit) if sort else str(items[-1]["id"]))

    def workload_counts(self, where: WorkloadFilter) -> dict[str, int]:
        query = select(workloads.c.state, func.count().label("number")).group_by(workloads.c.state)
        return _by_state(self._rows(query.where(*workload_list.conditions(where, any_state=True))))

    def spec_json(self, workload_id: int) -> str | None:
        return self._scalar(select(workloads.c.spec_json).where(workloads.c.id == workload_id))

    def spec_jsons(self, workload_ids: Collection[int]) -> dict[int, str]:
        query = select(workloads.c.id, workloads.c.spec_json).where(workloads.c.id.in_(workload_ids))
        return {row["id"]: row["spec_json"] for row in self._rows(query)}

    def tasks(self, workload_id: int, limit: int = 1000, offset: int = 0) -> list[dict[str, Any]]:
        with self._reading() as connection:
            replicas = connection.scalar(select(workloads.c.replicas).where(workloads.c.id == workload_id))
            wanted = range(offset, min(offset + limit, replicas or 0))
            query = select(tasks).where(
                tasks.c.workload == workload_id, tasks.c.replica >= wanted.start, tasks.c.replica < wanted.stop
            )
            written = {row["replica"]: with_devices(dict(row)) for row in connection.execute(query).mappings()}
            unwritten = unwritten_row(connection, workload_id) if len(written) < len(wanted) else {}
        return [written.get(replica) or unwritten | {"replica": replica} for replica in wanted]

    def node_tasks(self, node: str) -> list[dict[str, Any]]:
        held = select(tasks).where(tasks.c.node == node, text(HOLDS_NODE)).subquery()
        query = (
            select(held, workloads.c.namespace, workloads.c.name)
            .join(workloads, workloads.c.id == held.c.workload)
            .order_by(held.c.workload, held.c.replica)
        )
        return [with_devices(row) for row in self._rows(query)]

    def decisions(
        self,
        workload_id: int | Collection[int],
        limit: int = 20,
        replica: int | None = None,
        before: DecisionPlace | None = None,
    ) -> list[dict[str, Any]]:
        place = (decisions.c.at, decisions.c.workload, decisions.c.replica, decisions.c.attempt)
        query = select(decisions).where(_is(decisions.c.workload, workload_id))
        query = query.order_by(*(column.desc() for column in place)).limit(limit)
        if replica is not None:
            query = query.where(decisions.c.replica == replica)
        if before is not None:
            query = query.where(tuple_(*place) < tuple_(*before))
        return [row | {"explanation": explanation_dict(orjson.loads(row["explanation"]))} for row in self._rows(query)]

    def history(
        self,
        workload_id: int | Collection[int] | None = None,
        node: str | None = None,
        after: int = 0,
        limit: int = 100,
        backend: str | None = None,
        replica: int | None = None,
    ) -> list[dict[str, Any]]:
        query = select(history).where(history.c.seq > after).order_by(history.c.seq).limit(limit)
        for column, wanted in (("workload", workload_id), ("node", node), ("backend", backend)):
            if wanted is not None:
                query = query.where(_is(history.c[column], wanted))
        if replica is not None:
            query = query.where(history.c.replica.is_(None) | (history.c.replica == replica))
        return self._rows(query)

    def newest_history_time(self) -> float | None:
        return self._scalar(select(history.c.at).order_by(history.c.seq.desc()).limit(1))

    def newest_history(self) -> int:
        return self._scalar(select(func.max(history.c.seq))) or 0

    def policy_versions(self, name: str) -> list[dict[str, Any]]:
        query = select(policies).where(policies.c.name == name).order_by(policies.c.version.desc())
        found = self._rows(query)
        for row in found:
            row["definition"] = None if row["definition"] is None else orjson.loads(row["definition"])
        return found

    def backends(self) -> list[BackendRecord]:
        return [BackendRecord(**row) for row in self._rows(select(backends).order_by(backends.c.name))]

    def tokens(self) -> list[TokenRecord]:
        return [TokenRecord(**row) for row in self._rows(select(tokens).order_by(tokens.c.id))]

    def idempotent_response(self, key: str) -> str | None:
        return self._scalar(select(idempotency.c.response).where(idempotency.c.key == key))

    def counts(self) -> dict[str, int]:
        query = select(workloads.c.state, func.count().label("number")).group_by(workloads.c.state)
        return _by_state(self._rows(query))

    def _rows(self, query: Select[Any]) -> list[dict[str, Any]]:
        with self._reading() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def _scalar(self, query: Select[T]) -> T | None:
        with self._reading() as connection:
            return connection.scalar(query)


def _by_state(rows: list[dict[str, Any]]) -> dict[str, int]:
    found: dict[str, int] = {row["state"]: row["number"] for row in rows}
    return {str(state): found.get(state, 0) for state in WorkloadState}


def _place(cursor: str | None) -> int:
    """Where a page of a sorted list begins. Raises ValueError for a cursor no page gave."""
    place = 0 if cursor is None else workload_list.place_in(cursor)
    if place is None:
        raise ValueError(f"{str(cursor)[:40]!r} is not a cursor that a page of this order gave; leave it out to start")
    return place


def _whole_workloads() -> Select[Any]:
    """With definition and shape, which lists leave out."""
    columns = (*SUMMARY, workloads.c.spec_json, shapes.c.json.label("shape_json"))
    return select(*columns).join(shapes, shapes.c.id == workloads.c.shape)


def _namespaces(connection: Connection) -> list[str]:
    """One step along the index for each: distinct values would read the whole of it."""
    found: list[str] = []
    following = select(func.min(workloads.c.namespace))
    while (one := connection.scalar(following)) is not None:
        found.append(one)
        following = select(func.min(workloads.c.namespace)).where(workloads.c.namespace > one)
    return found


def _is(column: ColumnElement[Any], wanted: Any) -> ColumnElement[bool]:
    """It has the value, or one of several."""
    return column == wanted if isinstance(wanted, int | str) else column.in_(wanted)
