"""What was ordered of a backend with hosts and how it ended: one row per attempt, in a SQLite file of its own.

Used where a host runs what it was given on its own: containers on Docker engines, VMs on hypervisors. Guarantees: a
write is on disk when its call returns; a row is written before a host is called, so after a crash nothing runs there
without a row; an end is written once and stays.

    ordered ──► stopping ──► ended          an attempt may begin in any of the three: one that is stopped before it was
       └───────────────────────┘            bound ends at once, and is refused from then on
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from dovetail.backends.journal_database import JournalDatabase, JournalTable
from dovetail.backends.peer_migration import PeerMove

FILE = "attempts.db"
KEPT_FOR_S = 90 * 86400.0  # far longer than any command can be in flight

_TABLES = """
CREATE TABLE IF NOT EXISTS hosts (name TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS attempts (
    key TEXT PRIMARY KEY,
    node TEXT,                             -- none: stopped before it was bound
    state TEXT NOT NULL,
    created INTEGER NOT NULL DEFAULT 0,    -- the engine has said that there is a container
    stop_reason TEXT,
    stop_code INTEGER,                     -- the exit code to report instead of none
    stop_sent INTEGER NOT NULL DEFAULT 0,  -- whatever ends now may have been ended by us
    exit_code INTEGER,
    reason TEXT NOT NULL DEFAULT '',
    ran INTEGER NOT NULL DEFAULT 0,        -- its command was started
    changed_at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS moves (key TEXT PRIMARY KEY, target TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS peer_moves (    -- to or from a host that has another journal
    key TEXT PRIMARY KEY, source TEXT NOT NULL, target TEXT NOT NULL, number TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS handed_over (   -- to such a host; it must not run here again
    key TEXT PRIMARY KEY, node TEXT NOT NULL, at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS unfinished ON attempts (node) WHERE state <> 'ended';
"""


class State(StrEnum):
    ORDERED = "ordered"
    STOPPING = "stopping"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Record:
    key: str
    node: str | None
    state: State
    created: bool = False
    stop_reason: str | None = None
    stop_code: int | None = None
    stop_sent: bool = False
    exit_code: int | None = None
    reason: str = ""
    ran: bool = False
    changed_at: float = 0.0

    @property
    def refused(self) -> bool:
        """It ended before it started, and not because of its command: it cannot be bound again."""
        return self.state is State.ENDED and not self.ran and self.exit_code is None


class Journal:
    def __init__(self, folder: Path) -> None:
        self._database = JournalDatabase(folder / FILE, _TABLES)
        self.open, self.close = self._database.open, self._database.close
        self._run, self._sql = self._database.run, self._database.sql
        self._rows = JournalTable(self._database, "attempts", Record)
        self.get, self._write, self._known = self._rows.get, self._rows.write, self._rows.known

    async def unfinished(self, node: str) -> list[str]:
        def find() -> list[str]:
            rows = self._sql("SELECT key FROM attempts WHERE node = ? AND state <> 'ended'", node)
            return [row[0] for row in rows]

        return await self._run(find)

    async def all_unfinished(self) -> list[Record]:
        """On whatever node."""

        def find() -> list[Record]:
            keys = [row[0] for row in self._sql("SELECT key FROM attempts WHERE state <> 'ended'")]
            return [self._known(key) for key in keys]

        return await self._run(find)

    async def hosts(self) -> list[str]:
        """The hosts of the last call of `keep_hosts`."""
        return await self._run(lambda: [row[0] for row in self._sql("SELECT name FROM hosts")])

    async def keep_hosts(self, names: Sequence[str]) -> None:
        def write() -> None:
            for name in names:
                self._sql("INSERT OR IGNORE INTO hosts VALUES (?)", name)
            for (name,) in self._sql("SELECT name FROM hosts"):
                if name not in names:
                    self._sql("DELETE FROM hosts WHERE name = ?", name)

        await self._run(write)

    async def order(self, key: str, node: str, *, created: bool = False) -> Record:
        """The row of the key, which is written only if there is none. `created`: there is, or was, a container."""
        return await self._write(
            key,
            "INSERT OR IGNORE INTO attempts (key, node, state, created, changed_at) VALUES (?, ?, 'ordered', ?, ?)",
            *(key, node, created, time.time()),
        )

    async def created(self, key: str) -> Record:
        """Written before a container is started. If the row is ended, the container must not be started."""
        return await self._write(key, "UPDATE attempts SET created = 1 WHERE key = ?", key)

    async def stop(self, key: str, reason: str, code: int | None = None) -> Record:
        """It is to end. Without a container it has ended. The first reason counts."""

        def write() -> Record:
            now = time.time()
            self._sql(
                "INSERT OR IGNORE INTO attempts (key, state, reason, changed_at) VALUES (?, 'ended', ?, ?)",
                *(key, reason, now),
            )
            self._sql(
                "UPDATE attempts SET state = CASE WHEN created THEN 'stopping' ELSE 'ended' END, reason = ?1, "
                "stop_reason = ?1, stop_code = ?2, changed_at = ?3 WHERE key = ?4 AND state = 'ordered'",
                *(reason, code, now, key),
            )
            return self._known(key)

        return await self._run(write)

    async def refuse(self, key: str, reason: str) -> Record:
        """End it, if it has no container yet."""
        return await self._write(
            key,
            "UPDATE attempts SET state = 'ended', reason = ?, changed_at = ? "
            "WHERE key = ? AND state = 'ordered' AND NOT created",
            *(reason, time.time(), key),
        )

    async def begin_move(self, key: str, target: str) -> None:
        """Written before a live migration begins: from now on it may run on either host."""
        await self._run(lambda: self._sql("INSERT OR REPLACE INTO moves VALUES (?, ?)", key, target))

    async def target(self, key: str) -> str | None:
        """Where it is being migrated to."""
        found = await self._run(lambda: self._sql("SELECT target FROM moves WHERE key = ?", key))
        return str(found[0][0]) if found else None

    async def end_move(self, key: str, node: str) -> Record:
        """The migration is over, and it is on this host."""

        def write() -> Record:
            self._sql("UPDATE attempts SET node = ? WHERE key = ? AND state <> 'ended'", node, key)
            self._sql("DELETE FROM moves WHERE key = ?", key)
            return self._known(key)

        return await self._run(write)

    # --- moves to and from hosts that have another journal ------------------------------------------------------

    async def peer_move(self, key: str) -> PeerMove | None:
        """The one that is not settled."""
        found = await self._run(lambda: self._sql("SELECT * FROM peer_moves WHERE key = ?", key))
        return PeerMove(*found[0]) if found else None

    async def peer_moves(self) -> list[PeerMove]:
        return await self._run(lambda: [PeerMove(*row) for row in self._sql("SELECT * FROM peer_moves")])

    async def handed_over_to(self, key: str) -> str | None:
        found = await self._run(lambda: self._sql("SELECT node FROM handed_over WHERE key = ?", key))
        return str(found[0][0]) if found else None

    async def begin_peer_move(self, move: PeerMove, *, comes: bool) -> None:
        """Written before either host is called. `comes`: to this host, which has not seen the attempt."""
        row = (move.key, move.source, move.target, move.number)
        statements: list[tuple[str, tuple[object, ...]]] = [
            ("INSERT OR REPLACE INTO peer_moves VALUES (?, ?, ?, ?)", row),
            ("INSERT OR REPLACE INTO moves VALUES (?, ?)", (move.key, move.target)),
        ]
        if comes:
            order = (
                "INSERT OR REPLACE INTO attempts (key, node, state, created, changed_at) VALUES (?, ?, 'ordered', 1, ?)"
            )
            statements.append((order, (move.key, move.source, time.time())))
            statements.append(("DELETE FROM handed_over WHERE key = ?", (move.key,)))
        await self._run(lambda: self._together(statements))

    async def settle_here(self, key: str, node: str) -> None:
        """It is on this host, and the move is over."""
        await self._run(
            lambda: self._together(
                [
                    ("UPDATE attempts SET node = ? WHERE key = ? AND state <> 'ended'", (node, key)),
                    ("DELETE FROM moves WHERE key = ?", (key,)),
                    ("DELETE FROM peer_moves WHERE key = ?", (key,)),
                ]
            )
        )

    async def settle_elsewhere(self, key: str, node: str | None) -> None:
        """It is not here. `node`: this host has handed it over to that one; None: it did not come."""
        statements: list[tuple[str, tuple[object, ...]]] = [
            (f"DELETE FROM {table} WHERE key = ?", (key,))  # noqa: S608 (our own names)
            for table in ("attempts", "moves", "peer_moves")
        ]
        if node is not None:
            statements.append(("INSERT OR REPLACE INTO handed_over VALUES (?, ?, ?)", (key, node, time.time())))
        await self._run(lambda: self._together(statements))

    # ------------------------------------------------------------------------------------------------------------

    async def stop_sent(self, key: str) -> Record:
        return await self._write(key, "UPDATE attempts SET stop_sent = 1 WHERE key = ?", key)

    async def end(self, key: str, exit_code: int | None, reason: str, *, ran: bool, at: str | None = None) -> Record:
        """Write the end; a second call changes nothing. `at`: only if it is on this host, and does not move."""
        here = "" if at is None else " AND node = ? AND key NOT IN (SELECT key FROM moves)"
        return await self._write(
            key,
            "UPDATE attempts SET state = 'ended', exit_code = ?, reason = ?, ran = ?, changed_at = ? "  # noqa: S608
            f"WHERE key = ? AND state <> 'ended'{here}",
            *(exit_code, reason, ran, time.time(), key, *([] if at is None else [at])),
        )

    async def forget_old(self) -> None:
        before = time.time() - KEPT_FOR_S
        await self._run(lambda: self._sql("DELETE FROM attempts WHERE state = 'ended' AND changed_at < ?", before))
        await self._run(lambda: self._sql("DELETE FROM handed_over WHERE at < ?", before))

    def _together(self, statements: Sequence[tuple[str, tuple[object, ...]]]) -> None:
        with self._database.transaction():
            for statement, values in statements:
                self._sql(statement, *values)
