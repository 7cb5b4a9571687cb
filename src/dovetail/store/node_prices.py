"""Writes down what nodes cost from when on, in the transaction that changes them.

Guarantees: a row only where something changed that accounting reads; none for nodes that never had a price, so that
most clusters have an empty table. Old rows that later ones replace can be forgotten (`forget`).
"""

from collections.abc import Iterable
from dataclasses import astuple

from sqlalchemy import Connection, Dialect, and_, delete, exists, func, select

from dovetail.model.cost_facts import NodePrice
from dovetail.model.record import NodeRecord
from dovetail.store.schema import node_prices
from dovetail.store.statements import upsert

_COLUMNS = ("node", "at", "backend", "currency", "price_nanos", "running", "cpu", "memory", "gpu")
_ASKED_AT_ONCE = 500


class PriceWriter:
    def __init__(self, dialect: Dialect) -> None:
        self._rows = upsert(node_prices, dialect).taking(*_COLUMNS)
        self._priced: set[str] | None = None  # nodes that may have a row; more than have one do no harm

    def write(self, connection: Connection, changed: Iterable[NodeRecord], gone: Iterable[str], at: float) -> None:
        new = {record.node.name: NodePrice.of(record.node, at) for record in changed}
        new |= {name: NodePrice.gone(name, at) for name in gone}
        if not new:
            return
        if self._priced is None:
            self._priced = set(connection.scalars(select(node_prices.c.node).distinct()))
        asked = {name: price for name, price in new.items() if price.price_nanos or name in self._priced}
        if not asked:
            return
        self._priced.update(asked)
        last = _last_of(connection, list(asked))
        different = [price for name, price in asked.items() if _differs(price, last.get(name))]
        self._rows.run(connection, map(astuple, different))


def _differs(price: NodePrice, before: NodePrice | None) -> bool:
    if before is None or not price.price_nanos or not before.price_nanos:
        return price.price_nanos != (0 if before is None else before.price_nanos)
    return astuple(price)[2:] != astuple(before)[2:]


def _last_of(connection: Connection, names: list[str]) -> dict[str, NodePrice]:
    found = {}
    for first in range(0, len(names), _ASKED_AT_ONCE):
        some = names[first : first + _ASKED_AT_ONCE]
        newest = select(node_prices.c.node, func.max(node_prices.c.at).label("at"))
        last = newest.where(node_prices.c.node.in_(some)).group_by(node_prices.c.node).subquery()
        is_last = and_(node_prices.c.node == last.c.node, node_prices.c.at == last.c.at)
        for row in connection.execute(select(node_prices).join(last, is_last)):
            found[row.node] = NodePrice(*row)
    return found


def forget(connection: Connection, before: float) -> int:
    """Prices that counted no longer at that time. Returns how many rows went."""
    later = node_prices.alias()
    replaced = exists().where(later.c.node == node_prices.c.node, later.c.at > node_prices.c.at, later.c.at < before)
    old = node_prices.c.at < before
    rows = connection.execute(delete(node_prices).where(old, replaced)).rowcount
    return rows + connection.execute(delete(node_prices).where(old, node_prices.c.price_nanos == 0)).rowcount
