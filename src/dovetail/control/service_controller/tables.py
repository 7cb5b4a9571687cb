"""The tables of services: whole records in, whole records out."""

from collections import defaultdict
from dataclasses import asdict
from typing import Any, NamedTuple

from pydantic import ValidationError
from sqlalchemy import Boolean, Column, Connection, Float, Integer, MetaData, String, Table, delete, insert, select

from dovetail.model.services.service import Service
from dovetail.services.records import Revision, RolloutState, ServiceRecord

_METADATA = MetaData()
_KEY = ("namespace", "name")

services = Table(
    "services",
    _METADATA,
    Column("namespace", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("target", Integer),
    Column("replicas", Integer),
    Column("stable", Integer),
    Column("active", Integer),
    Column("rollout", String),
    Column("best", Integer),
    Column("progress_at", Float),
    Column("message", String),
    Column("removed", Boolean),
)
revisions = Table(
    "revisions",
    _METADATA,
    Column("namespace", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("spec", String),
    Column("made_at", Float),
    Column("cause", String),
)


class UnreadableService(NamedTuple):
    """A service whose present definition this version refuses. `newest`: the number of its newest revision."""

    newest: int
    problem: str


class StoredServices(NamedTuple):
    records: list[ServiceRecord]
    unreadable: dict[tuple[str, str], UnreadableService]


def load(connection: Connection) -> StoredServices:
    """Earlier revisions that this version refuses are left out; nobody can go back to them."""
    known: dict[tuple[str, str], list[Revision]] = defaultdict(list)
    refused: dict[tuple[str, str], dict[int, str]] = defaultdict(dict)
    for row in connection.execute(select(revisions).order_by(revisions.c.number)).mappings():
        key = row["namespace"], row["name"]
        try:
            spec = Service.model_validate_json(row["spec"])
        except ValidationError as error:
            first = error.errors()[0]
            refused[key][row["number"]] = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        else:
            known[key].append(Revision(row["number"], spec, row["made_at"], row["cause"]))
    found = StoredServices([], {})
    for row in connection.execute(select(services)).mappings():
        key, fields = (row["namespace"], row["name"]), dict(row)
        if (problem := refused[key].get(row["target"])) is not None:
            newest = max([*refused[key], *(one.number for one in known[key])])
            found.unreadable[key] = UnreadableService(newest, problem)
            continue
        fields |= {name: 0 for name in ("stable", "active") if row[name] in refused[key]}
        fields["rollout"] = RolloutState(row["rollout"])
        found.records.append(ServiceRecord(**fields, revisions=tuple(known[key])))
    return found


def save(connection: Connection, record: ServiceRecord, before: ServiceRecord | None) -> None:
    """`before`: as it is stored, so that revisions are written only when they changed."""
    row = {name: value for name, value in asdict(record).items() if name != "revisions"}
    connection.execute(delete(services).where(_is(services, record)))
    connection.execute(insert(services).values(**row | {"rollout": str(record.rollout)}))
    if before is None or before.revisions != record.revisions:
        connection.execute(delete(revisions).where(_is(revisions, record)))
        rows = [
            {
                "namespace": record.namespace,
                "name": record.name,
                "number": one.number,
                "spec": one.spec.model_dump_json(exclude_unset=True),
                "made_at": one.made_at,
                "cause": one.cause,
            }
            for one in record.revisions
        ]
        connection.execute(insert(revisions), rows)


def remove(connection: Connection, record: ServiceRecord) -> None:
    for table in (services, revisions):
        connection.execute(delete(table).where(_is(table, record)))


def _is(table: Table, record: ServiceRecord) -> Any:
    return (table.c.namespace == record.namespace) & (table.c.name == record.name)
