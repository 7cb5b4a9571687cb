"""What was ordered of a backend of functions, and how it ended: one row a call, in a SQLite file of its own.

Guarantees: a write is on disk when its call returns; a row says `sent` before anything is sent, so after a crash no
call was made that is not written down; an end is written once and stays, with its output.

    ordered ──► sent ──► ended        `ordered` again if the service surely did not take it
       └───────────────────┘          one that is stopped before it was ordered ends at once, and is refused then
    adopted ─────────────► ended      confirmed as bound before, and nothing else is known here
"""

import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from dovetail.backends.journal_database import JournalDatabase, JournalTable
from dovetail.backends.serverless.calls import CallResult
from dovetail.model.failure_cause import FailureCause

FILE = "calls.db"
KEPT_FOR_S = 90 * 86400.0  # far longer than any command can be in flight

_TABLES = """
CREATE TABLE IF NOT EXISTS calls (
    key TEXT PRIMARY KEY,
    node TEXT,                           -- none: stopped before it was bound
    state TEXT NOT NULL,
    accepted INTEGER NOT NULL DEFAULT 0, -- the service has said that it took the call
    handle TEXT NOT NULL DEFAULT '',     -- by what the service finds it
    stop_reason TEXT,
    stop_code INTEGER,                   -- the exit code to report instead of none
    exit_code INTEGER,
    reason TEXT NOT NULL DEFAULT '',
    cause TEXT NOT NULL DEFAULT 'unknown',
    ran INTEGER NOT NULL DEFAULT 0,      -- it was sent, and surely taken
    changed_at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS outputs (key TEXT PRIMARY KEY, text TEXT NOT NULL, written_at REAL NOT NULL);
"""


class CallState(StrEnum):
    ORDERED = "ordered"
    SENT = "sent"
    ADOPTED = "adopted"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class CallRecord:
    key: str
    node: str | None
    state: CallState
    accepted: bool = False
    handle: str = ""
    stop_reason: str | None = None
    stop_code: int | None = None
    exit_code: int | None = None
    reason: str = ""
    cause: FailureCause = FailureCause.UNKNOWN
    ran: bool = False

    @property
    def refused(self) -> bool:
        """It ended before it ran: it cannot be bound again."""
        return self.state is CallState.ENDED and not self.ran and self.exit_code is None


class CallJournal:
    def __init__(self, folder: Path) -> None:
        self._database = JournalDatabase(folder / FILE, _TABLES)
        self.open, self.close = self._database.open, self._database.close
        self._run, self._sql = self._database.run, self._database.sql
        self._rows = JournalTable(self._database, "calls", CallRecord)
        self.get, self._write, self._known = self._rows.get, self._rows.write, self._rows.known

    async def unfinished(self) -> list[str]:
        return await self._run(lambda: [row[0] for row in self._sql("SELECT key FROM calls WHERE state <> 'ended'")])

    async def order(self, key: str, node: str, state: CallState = CallState.ORDERED) -> CallRecord:
        """The row of the key, which is written only if there is none."""
        return await self._write(
            key,
            "INSERT OR IGNORE INTO calls (key, node, state, changed_at) VALUES (?, ?, ?, ?)",
            *(key, node, state, time.time()),
        )

    async def sent(self, key: str) -> CallRecord:
        """Written before the call is sent. If it is stopped or ended then, it must not be sent."""
        return await self._write(
            key,
            "UPDATE calls SET state = 'sent', changed_at = ? "
            "WHERE key = ? AND state = 'ordered' AND stop_reason IS NULL",
            *(time.time(), key),
        )

    async def not_sent(self, key: str) -> CallRecord:
        """The service surely did not take it."""
        return await self._write(
            key, "UPDATE calls SET state = 'ordered' WHERE key = ? AND state = 'sent' AND NOT accepted", key
        )

    async def accepted(self, key: str, handle: str) -> CallRecord:
        return await self._write(key, "UPDATE calls SET accepted = 1, handle = ? WHERE key = ?", handle, key)

    async def stop(self, key: str, reason: str, code: int | None = None) -> CallRecord:
        """It is to end. If it was not sent, it has ended. The first reason counts."""

        def write() -> CallRecord:
            now = time.time()
            self._sql(
                "INSERT OR IGNORE INTO calls (key, state, reason, stop_reason, changed_at) "
                "VALUES (?, 'ended', ?, ?, ?)",
                *(key, reason, reason, now),
            )
            self._sql(
                "UPDATE calls SET state = CASE state WHEN 'ordered' THEN 'ended' ELSE state END, stop_reason = ?1, "
                "stop_code = ?2, reason = ?1, changed_at = ?3 "
                "WHERE key = ?4 AND state <> 'ended' AND stop_reason IS NULL",
                *(reason, code, now, key),
            )
            return self._known(key)

        return await self._run(write)

    async def end(self, key: str, result: CallResult, *, ran: bool) -> CallRecord:
        """Write the end and its output; a second call changes nothing."""

        def write() -> CallRecord:
            now = time.time()
            with self._database.transaction():
                self._sql(
                    "UPDATE calls SET state = 'ended', exit_code = ?, reason = ?, cause = ?, ran = ?, changed_at = ? "
                    "WHERE key = ? AND state <> 'ended'",
                    *(result.exit_code, result.reason, result.cause.value, ran, now, key),
                )
                if self._sql("SELECT changes()")[0][0] and result.output:
                    self._sql("INSERT OR REPLACE INTO outputs VALUES (?, ?, ?)", key, result.output, now)
            return self._known(key)

        return await self._run(write)

    async def output(self, key: str) -> str:
        def read() -> str:
            rows = self._sql("SELECT text FROM outputs WHERE key = ?", key)
            return str(rows[0][0]) if rows else ""

        return await self._run(read)

    async def forget_old(self, outputs_after_s: float) -> None:
        """Rows that nobody can ask for any more, and outputs that were kept long enough."""
        now = time.time()

        def forget() -> None:
            self._sql("DELETE FROM calls WHERE state = 'ended' AND changed_at < ?", now - KEPT_FOR_S)
            self._sql("DELETE FROM outputs WHERE written_at < ?", now - outputs_after_s)

        await self._run(forget)
