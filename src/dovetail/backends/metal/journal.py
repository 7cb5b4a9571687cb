"""What the metal backend knows after a restart: the inventories of its machines, and how long each was off.

Guarantees: what `add` was given is on disk when it returns, whole or not at all.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from dovetail.backends.journal_database import JournalDatabase
from dovetail.backends.metal.controller import Accelerator, Drive, HardwareInventory, Nic

FILE = "metal.db"
_TABLES = """
CREATE TABLE IF NOT EXISTS inventories (machine TEXT PRIMARY KEY, found TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS off_time (
    machine TEXT NOT NULL,
    day TEXT NOT NULL,        -- of the calendar, UTC
    seconds REAL NOT NULL,
    PRIMARY KEY (machine, day)
) WITHOUT ROWID;
"""
_ADD = """
INSERT INTO off_time SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?) WHERE true
ON CONFLICT DO UPDATE SET seconds = seconds + excluded.seconds
"""


class MetalJournal:
    def __init__(self, folder: Path) -> None:
        self._database = JournalDatabase(folder / FILE, _TABLES)
        self.close = self._database.close

    async def open(self) -> None:
        await self._database.open("metal")

    async def inventories(self) -> dict[str, HardwareInventory]:
        rows = await self._database.run(lambda: self._database.sql("SELECT machine, found FROM inventories"))
        return {machine: _inventory(json.loads(found)) for machine, found in rows}

    async def put_inventory(self, machine: str, found: HardwareInventory) -> None:
        statement, text = "INSERT OR REPLACE INTO inventories VALUES (?, ?)", json.dumps(asdict(found))
        await self._database.run(lambda: self._database.sql(statement, machine, text))

    async def off_time(self) -> tuple[dict[str, float], str | None]:
        """Seconds by machine, and the first day that is counted."""

        def read() -> tuple[dict[str, float], str | None]:
            rows = self._database.sql("SELECT machine, sum(seconds) FROM off_time GROUP BY machine")
            first = self._database.sql("SELECT min(day) FROM off_time")
            return dict(rows), first[0][0]

        return await self._database.run(read)

    async def add(self, off_s: Mapping[tuple[str, str], float]) -> None:
        rows = json.dumps([[machine, day, seconds] for (machine, day), seconds in off_s.items()])
        await self._database.run(lambda: self._database.sql(_ADD, rows))


def _inventory(found: dict[str, object]) -> HardwareInventory:
    parts = {"drives": Drive, "nics": Nic, "accelerators": Accelerator}
    lists = {name: [part(**one) for one in found[name]] for name, part in parts.items()}  # type: ignore[attr-defined]
    return HardwareInventory(**{**found, **lists})  # type: ignore[arg-type]
