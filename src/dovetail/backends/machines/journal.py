"""The machines that were wanted, launched and not ended yet, in a SQLite file of the backend.

Guarantees: a row with its token is written before the provider is asked to launch, and removed when the machine is
known to have ended. After a crash there is no machine without a row, unless the file was lost; the provider's marks
find those.
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from dovetail.backends.journal_database import JournalDatabase

FILE = "machines.db"
_TABLES = """
CREATE TABLE IF NOT EXISTS machines (
    node TEXT PRIMARY KEY,
    type TEXT NOT NULL,
    token TEXT NOT NULL,
    phase TEXT NOT NULL,
    machine TEXT,             -- the provider's name for it, when it is known
    since REAL NOT NULL       -- when the phase began
) WITHOUT ROWID;
"""
_COLUMNS = "node, type, token, phase, machine, since"


class MachinePhase(StrEnum):
    LAUNCHING = "launching"  # the provider may have been asked
    UP = "up"  # the provider has said that it exists
    ENDING = "ending"  # the provider may have been asked to end it


@dataclass(frozen=True, slots=True)
class MachineRow:
    node: str
    type: str
    token: str
    phase: MachinePhase
    machine: str | None
    since: float


class MachineJournal:
    def __init__(self, folder: Path) -> None:
        self._database = JournalDatabase(folder / FILE, _TABLES)
        self.open, self.close = self._database.open, self._database.close

    async def all(self) -> list[MachineRow]:
        def find() -> list[MachineRow]:
            rows = self._database.sql(f"SELECT {_COLUMNS} FROM machines")  # noqa: S608 (our own names)
            return [MachineRow(row[0], row[1], row[2], MachinePhase(row[3]), row[4], row[5]) for row in rows]

        return await self._database.run(find)

    async def put(self, row: MachineRow) -> None:
        values = (row.node, row.type, row.token, row.phase.value, row.machine, row.since)
        statement = f"INSERT OR REPLACE INTO machines ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)"  # noqa: S608
        await self._database.run(lambda: self._database.sql(statement, *values))

    async def remove(self, node: str) -> None:
        await self._database.run(lambda: self._database.sql("DELETE FROM machines WHERE node = ?", node))
