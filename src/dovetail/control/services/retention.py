"""Forgetting: ended work and history go when they are too old, or when the database is too large, oldest first.

Guarantees: space is given back to the file system, in small pieces, so that no write waits for long. A clock that jumps
forward deletes nothing at once: age is not trusted for a day, in which the clock can be set right. The same holds after
a start with records so old that all of them would go.
"""

import asyncio
import time

import structlog

from dovetail.control.loop.store_access import on_store_thread
from dovetail.control.settings import Retention
from dovetail.model.text.quantity import format_duration, show_bytes
from dovetail.store.contract import Store, StoreError

FIRST_S, EVERY_S = 10.0, 3600.0
LOOK_EVERY_S = 10.0
JUMP_S = 600.0
DISTRUST_S = 86400.0
FULL_ENOUGH = 0.9  # of the largest size: less is deleted often otherwise

log = structlog.get_logger()


class ClockGuard:
    """Compares the clock with the time since the machine started, which nobody can set. Times in seconds."""

    def __init__(self, now: float, uptime: float, newest_record: float | None, keep_s: float) -> None:
        self._offset = now - uptime
        self._distrusted_until = uptime
        if newest_record is not None and now - newest_record > keep_s:
            self._distrust(uptime, f"the newest record is {format_duration(now - newest_record)} old")

    def is_trusted(self, now: float, uptime: float) -> bool:
        ahead, self._offset = now - uptime - self._offset, now - uptime
        if ahead > JUMP_S:
            self._distrust(uptime, f"the clock jumped by {format_duration(ahead)}")
        return uptime >= self._distrusted_until

    def _distrust(self, uptime: float, why: str) -> None:
        self._distrusted_until = uptime + DISTRUST_S
        log.warning("nothing is deleted for its age until tomorrow; check the clock", why=why)


class RetentionService:
    def __init__(self, settings: Retention, store: Store) -> None:
        self._settings, self._store = settings, store

    async def run(self, newest_record: float | None) -> None:
        """Until cancelled. `newest_record`: when the last one was written before this start."""
        keep_s = max(self._settings.finished, self._settings.history)
        guard = ClockGuard(time.time(), uptime_s(), newest_record, keep_s)
        due = uptime_s() + FIRST_S
        while True:
            await asyncio.sleep(min(LOOK_EVERY_S, max(0.0, due - uptime_s())))
            now, trusted = time.time(), guard.is_trusted(time.time(), uptime_s())
            if uptime_s() >= due:
                due = uptime_s() + EVERY_S
                try:
                    await self.tidy(now if trusted else None)
                except StoreError as error:
                    log.warning("old records could not be deleted", error=str(error))

    async def tidy(self, now: float | None) -> None:
        """`now` None: age does not count."""
        if now is not None:
            await on_store_thread(self._store.prune, now - self._settings.finished, now - self._settings.history)
        await self._fit()
        more = True
        while more:
            more = await on_store_thread(self._store.give_back_space)

    async def _fit(self) -> None:
        """Into the largest size."""
        most = self._settings.max_size
        size = before = await on_store_thread(self._store.size_bytes)
        if size <= most:
            return
        while size > most * FULL_ENOUGH and await on_store_thread(self._store.prune_oldest) > 0:
            size = await on_store_thread(self._store.size_bytes)
        words = "the database was too large; the oldest records were deleted"
        log.warning(words, before=show_bytes(before), after=show_bytes(size), most=show_bytes(most))


def uptime_s() -> float:
    """Seconds that only ever grow, also while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
