"""The tables of costs, a row for each day, and the statements that add to them, fold and forget.

`nanos`, `used` and `total` are billionths of the currency. A row without a workload (0) or without a node is the sum of
several: a day that is too old for details is folded into its month, `2026-11-01`.
"""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import BigInteger, Column, Connection, Double, Integer, MetaData, String, Table, delete, func, select
from sqlalchemy.dialects.sqlite import insert

from dovetail.accounting.charging import Charges
from dovetail.model.cost_facts import WorkOwner

_METADATA = MetaData()

work_costs = Table(
    "work_costs",
    _METADATA,
    *(Column("day", String, primary_key=True), Column("currency", String, primary_key=True)),
    Column("workload", Integer, primary_key=True, autoincrement=False),
    *(Column(name, String, primary_key=True) for name in ("namespace", "user", "queue")),
    Column("name", String),
    Column("nanos", BigInteger),
)
node_costs = Table(
    "node_costs",
    _METADATA,
    *(Column(name, String, primary_key=True) for name in ("day", "currency", "node", "backend")),
    Column("used", BigInteger),
    Column("total", BigInteger),
)
settled = Table("settled", _METADATA, Column("name", String, primary_key=True), Column("at", Double))
budgets = Table(
    "budgets",
    _METADATA,
    Column("namespace", String, primary_key=True),
    Column("currency", String),
    Column("nanos", BigInteger),
    Column("on_limit", String),
    Column("set_at", Double),
    Column("author", String),
)
warnings = Table(
    "warnings",
    _METADATA,
    *(Column("namespace", String, primary_key=True), Column("month", String, primary_key=True)),
    Column("percent", Integer, primary_key=True, autoincrement=False),
)

_ALL = "all"


def settled_at(connection: Connection) -> float | None:
    """Up to when everything is in the tables; None before the first time."""
    found: float | None = connection.scalar(select(settled.c.at).where(settled.c.name == _ALL))
    return found


def add(connection: Connection, charges: Charges, owners: dict[int, WorkOwner], until: float) -> None:
    """Everything up to `until`, together with that moment: so nothing is added twice."""
    work = [
        {
            "day": day,
            "currency": currency,
            "workload": id_,
            "namespace": owners[id_].namespace,
            "user": owners[id_].user,
            "queue": owners[id_].queue,
            "name": owners[id_].name,
            "nanos": nanos,
        }
        for (day, currency, id_), nanos in charges.work.items()
    ]
    nodes = [
        {"day": day, "currency": currency, "node": node, "backend": backend, "used": charges.used[key], "total": total}
        for key, total in charges.total.items()
        for day, currency, node, backend in (key,)
    ]
    _add_rows(connection, work_costs, work, ("nanos",))
    _add_rows(connection, node_costs, nodes, ("used", "total"))
    now = insert(settled).values(name=_ALL, at=until)
    connection.execute(now.on_conflict_do_update(index_elements=["name"], set_={"at": now.excluded.at}))


def _add_rows(connection: Connection, table: Table, rows: list[dict[str, Any]], amounts: Iterable[str]) -> None:
    if rows:
        given = insert(table)
        sums = {name: table.c[name] + given.excluded[name] for name in amounts}
        connection.execute(given.on_conflict_do_update(index_elements=list(table.primary_key), set_=sums), rows)


def fold(connection: Connection, before_day: str) -> None:
    """Days before this one into their months, without workloads and nodes. A month is folded whole or not at all."""
    month = (func.substr(work_costs.c.day, 1, 7) + "-01").label("day")
    keys = (month, work_costs.c.currency, work_costs.c.namespace, work_costs.c.user, work_costs.c.queue)
    old = (work_costs.c.day < before_day, work_costs.c.workload != 0)
    rows = connection.execute(select(*keys, func.sum(work_costs.c.nanos).label("nanos")).where(*old).group_by(*keys))
    sums = [{**row, "workload": 0, "name": ""} for row in rows.mappings()]
    connection.execute(delete(work_costs).where(*old))
    _add_rows(connection, work_costs, sums, ("nanos",))

    month = (func.substr(node_costs.c.day, 1, 7) + "-01").label("day")
    node_keys = (month, node_costs.c.currency, node_costs.c.backend)
    old = (node_costs.c.day < before_day, node_costs.c.node != "")
    amounts = (func.sum(node_costs.c.used).label("used"), func.sum(node_costs.c.total).label("total"))
    rows = connection.execute(select(*node_keys, *amounts).where(*old).group_by(*node_keys))
    node_sums = [{**row, "node": ""} for row in rows.mappings()]
    connection.execute(delete(node_costs).where(*old))
    _add_rows(connection, node_costs, node_sums, ("used", "total"))


def forget(connection: Connection, before_day: str) -> None:
    for table in (work_costs, node_costs):
        connection.execute(delete(table).where(table.c.day < before_day))
    connection.execute(delete(warnings).where(warnings.c.month < before_day[:7]))
