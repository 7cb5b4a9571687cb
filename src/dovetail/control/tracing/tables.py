"""The tables of traces that are not sent yet: whole traces in, whole traces out."""

from collections.abc import Iterable

from sqlalchemy import Column, Integer, MetaData, String, Table, delete, insert, select
from sqlalchemy.dialects.sqlite import insert as upsert

from dovetail.control.tracing.open_trace import OpenTrace
from dovetail.store.subsystem_tables import SubsystemTables

_METADATA = MetaData()
_NEWEST = "newest workload"

open_traces = Table(
    "open_traces", _METADATA, Column("workload", Integer, primary_key=True), Column("trace", String, nullable=False)
)
progress = Table(
    "progress", _METADATA, Column("name", String, primary_key=True), Column("value", Integer, nullable=False)
)


class TraceTables:
    """Every method may block. Raises StoreError."""

    def __init__(self, tables: SubsystemTables) -> None:
        self._tables = tables

    def load(self) -> tuple[list[OpenTrace], int | None]:
        """Open traces, and the newest workload that was ever heard of; None: this is the first start."""
        with self._tables.reading() as connection:
            texts = connection.execute(select(open_traces.c.trace).order_by(open_traces.c.workload)).scalars().all()
            newest = connection.execute(select(progress.c.value).where(progress.c.name == _NEWEST)).scalar()
        return [OpenTrace.from_json(text) for text in texts], newest

    def write(self, changed: Iterable[OpenTrace], newest: int) -> None:
        rows = [{"workload": one.workload, "trace": one.to_json()} for one in changed]
        with self._tables.writing() as connection:
            if rows:
                asked = upsert(open_traces)
                connection.execute(
                    asked.on_conflict_do_update(index_elements=["workload"], set_={"trace": asked.excluded.trace}), rows
                )
            connection.execute(delete(progress).where(progress.c.name == _NEWEST))
            connection.execute(insert(progress), [{"name": _NEWEST, "value": newest}])

    def remove(self, workloads: Iterable[int]) -> None:
        ids = list(workloads)
        with self._tables.writing() as connection:
            for start in range(0, len(ids), 500):
                connection.execute(delete(open_traces).where(open_traces.c.workload.in_(ids[start : start + 500])))
