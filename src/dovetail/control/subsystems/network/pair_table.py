"""The table of measured pairs: what counted before a restart counts after it, until it is measured again."""

from collections.abc import Mapping

from sqlalchemy import Column, Float, MetaData, String, Table, delete, insert, select

from dovetail.network_measurement.pair_history import PairHistory, SettledPair
from dovetail.store.subsystem_tables import SubsystemTables

pairs = Table(
    "pairs",
    MetaData(),
    Column("one", String, primary_key=True),
    Column("other", String, primary_key=True),
    Column("rtt_us", Float),  # null: no packet came through
    Column("loss", Float, nullable=False),
    Column("mbps", Float),
    Column("measured_at", Float, nullable=False),
)


def read_pairs(tables: SubsystemTables) -> dict[tuple[str, str], PairHistory]:
    """Raises StoreError."""
    found: dict[tuple[str, str], PairHistory] = {}
    with tables.reading() as connection:
        for row in connection.execute(select(pairs)):
            history = found[row.one, row.other] = PairHistory()
            rtt_us = float("inf") if row.rtt_us is None else row.rtt_us
            history.settled = SettledPair(rtt_us, row.loss, row.mbps)
            history.measured_at = row.measured_at
    return found


def write_pairs(tables: SubsystemTables, histories: Mapping[tuple[str, str], PairHistory]) -> None:
    """All there are; others are removed. Raises StoreError."""
    rows = [
        {
            "one": one,
            "other": other,
            "rtt_us": None if history.settled.rtt_us == float("inf") else history.settled.rtt_us,
            "loss": history.settled.loss,
            "mbps": history.settled.mbps,
            "measured_at": history.measured_at,
        }
        for (one, other), history in histories.items()
        if history.settled is not None
    ]
    with tables.writing() as connection:
        connection.execute(delete(pairs))
        if rows:
            connection.execute(insert(pairs), rows)
