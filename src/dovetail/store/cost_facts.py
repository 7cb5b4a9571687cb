"""Reading what accounting is made of: prices of nodes, and who held them.

Guarantees: facts of one call agree with each other. Only work on nodes that cost something is read, so that a cluster
without prices pays nothing for this.

Left to others: opening the database and explaining its errors (`sql`).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from sqlalchemy import Connection, Select, func, or_, select, union

from dovetail.model.cost_facts import CostFacts, Holding, NodePrice, WorkOwner
from dovetail.store.activity import ActivityReads, amounts_in
from dovetail.store.schema import UNFINISHED, attempts, node_prices, shapes, tasks, workloads

_ASKED_AT_ONCE = 500


class CostReads(ActivityReads):
    def first_price(self) -> float | None:
        """Since when nodes have cost something; None if none ever did."""
        with self._reading() as connection:
            first: float | None = connection.scalar(select(func.min(node_prices.c.at)))
            return first

    def cost_facts(self, since: float, until: float) -> CostFacts:
        with self._reading() as connection:
            prices = _prices(connection, since, until)
            if not any(price.price_nanos for price in prices):
                return CostFacts(prices)
            holdings = list(_holdings(connection, since, until))
            return CostFacts(prices, holdings, _owners(connection, {one.workload for one in holdings}))


def _prices(connection: Connection, since: float, until: float) -> list[NodePrice]:
    """Those that count between the two moments."""
    columns = node_prices.c
    first = select(columns.node, func.max(columns.at).label("at")).where(columns.at <= since).group_by(columns.node)
    in_force = first.subquery()
    is_first = (columns.node == in_force.c.node) & (columns.at == in_force.c.at)
    queries = (
        select(node_prices).join(in_force, is_first),
        select(node_prices).where(columns.at > since, columns.at < until),
    )
    return [NodePrice(*row) for query in queries for row in connection.execute(query)]


def _holdings(connection: Connection, since: float, until: float) -> Iterator[Holding]:
    live = union(
        select(workloads.c.id).where(workloads.c.state.in_(UNFINISHED)),
        select(workloads.c.id).where(workloads.c.finished_at > since),
    )
    priced = select(node_prices.c.node).where(node_prices.c.price_nanos > 0)
    columns = ("workload", "replica", "attempt", "node", "placed_at")
    past = select(*(attempts.c[name] for name in columns), attempts.c.ended_at)
    past = past.where(attempts.c.workload.in_(live), attempts.c.ended_at > since, attempts.c.placed_at < until)
    latest = select(*(tasks.c[name] for name in columns), tasks.c.finished_at)
    latest = latest.where(
        tasks.c.workload.in_(live),
        tasks.c.placed_at < until,
        tasks.c.node.in_(priced),
        or_(tasks.c.finished_at.is_(None), tasks.c.finished_at > since),
    )
    # An attempt that migrated began on each further node when it left the one before, and is placed at its first one.
    left: defaultdict[tuple[int, int, int], list[float]] = defaultdict(list)
    ended_before = _tuples(connection, past)
    for workload, replica, attempt, _, _, ended in ended_before:
        left[workload, replica, attempt].append(ended)
    for workload, replica, attempt, node, placed, ended in chain(ended_before, _tuples(connection, latest)):
        begun = placed
        if left and (times := left.get((workload, replica, attempt))):
            begun = max((at for at in times if ended is None or at < ended), default=placed)
        yield Holding(workload, node, begun, ended)


def _owners(connection: Connection, ids: Iterable[int]) -> dict[int, WorkOwner]:
    found, asked = {}, sorted(ids)
    columns = (workloads.c.id, workloads.c.namespace, workloads.c.name, workloads.c.user, workloads.c.queue)
    query = select(*columns, shapes.c.json).join(shapes, shapes.c.id == workloads.c.shape)
    for first in range(0, len(asked), _ASKED_AT_ONCE):
        some = query.where(workloads.c.id.in_(asked[first : first + _ASKED_AT_ONCE]))
        for id_, namespace, name, user, queue, shape in _tuples(connection, some):
            found[id_] = WorkOwner(namespace, name, user or "", queue or "", amounts_in(shape))
    return found


def _tuples(connection: Connection, query: Select[Any]) -> list[Any]:
    """The driver's own rows, as in `restoring`."""
    cursor: Any = connection.execute(query).cursor
    found: list[Any] = cursor.fetchall()
    return found
