"""The subsystem: counts placements by node, and cordons a node after as many as the settings say."""

import asyncio
from collections import Counter

import prometheus_client
from sqlalchemy import Column, Connection, Integer, MetaData, String, Table, select
from sqlalchemy.dialects.sqlite import insert

from dovetail.control.subsystems.contract import DurableStep, Subsystem
from dovetail.model.event import NodeCordoned
from dovetail.model.text.strict import Strict
from dovetail.store.subsystem_tables import SubsystemTables

placements = Table("placements", MetaData(), Column("node", String, primary_key=True), Column("tasks", Integer))


class PlacementCountSettings(Strict):
    cordon_after: int | None = None


def placement_counter(registry: prometheus_client.CollectorRegistry) -> prometheus_client.Counter:
    return prometheus_client.Counter("placement_counts", "Tasks placed", ["node"], registry=registry)


class PlacementCounts(Subsystem):
    async def take(self, step: DurableStep) -> None:
        placed = Counter(decision.node for decision in step.batch.changes.decisions if decision.node is not None)
        if not placed:
            return
        counts = await asyncio.to_thread(self._write, placed)
        for node, count in placed.items():
            self.context.metrics.labels(node).inc(count)
        limit = self.context.settings.cordon_after
        full = [node for node in placed if limit is not None and counts[node] >= limit]
        self.context.put([NodeCordoned(node, True, f"{counts[node]} tasks were placed there") for node in full])

    def _write(self, placed: Counter[str]) -> dict[str, int]:
        assert self.context.tables is not None, "declared with migrations"
        with self.context.tables.writing() as connection:
            for node, count in placed.items():
                row = insert(placements).values(node=node, tasks=count)
                more = {"tasks": placements.c.tasks + count}
                connection.execute(row.on_conflict_do_update(index_elements=["node"], set_=more))
            return _all(connection)


def read_counts(tables: SubsystemTables) -> dict[str, int]:
    with tables.reading() as connection:
        return _all(connection)


def _all(connection: Connection) -> dict[str, int]:
    return {row.node: row.tasks for row in connection.execute(select(placements).order_by(placements.c.node))}
