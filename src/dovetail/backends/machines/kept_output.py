"""The output of tasks on machines that end: fetched from the agent when a task has ended, and kept beside the journal.

Guarantees: a machine is not ended for being idle while output is fetched from it. At most `MOST_BYTES` of a task are
kept, the newest `KEEP` outputs for `KEEP_FOR_S`. Output that could not be fetched is still asked of the agent, as long
as there is one.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import structlog

from dovetail.asyncio_tasks import cancel
from dovetail.backends.contract import LogChunk
from dovetail.backends.log_streams import read_output, tail_offset
from dovetail.backends.retention import to_remove

MOST_BYTES = 16 * 2**20
PIECE_BYTES = 2**18
KEEP, KEEP_FOR_S = 1000, 7 * 86_400.0
ANSWER_WITHIN_S = 60.0

log = structlog.get_logger()

#: Reads the output of one attempt from a byte offset.
ReadOutput = Callable[[int, int], Awaitable[LogChunk]]


class KeptOutput:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._fetching: dict[str, tuple[str, asyncio.Task[None]]] = {}  # by key, with the node

    def fetch(self, key: str, node: str, read: ReadOutput) -> None:
        """In the background; once for each attempt."""
        if key not in self._fetching and not self.has(key):
            task = asyncio.create_task(self._fetch(key, read), name=f"output of {key}")
            self._fetching[key] = node, task
            task.add_done_callback(lambda _: self._fetching.pop(key, None))

    def is_fetching(self, node: str) -> bool:
        return any(one == node for one, _ in self._fetching.values())

    def has(self, key: str) -> bool:
        return self._path(key).exists()

    async def logs(self, key: str, offset: int, limit: int) -> LogChunk:
        return await asyncio.to_thread(read_output, self._path(key), offset, limit, ended=True)

    async def tail(self, key: str, lines: int) -> int:
        return await asyncio.to_thread(tail_offset, self._path(key), lines)

    async def close(self) -> None:
        await cancel(*(task for _, task in self._fetching.values()))

    async def _fetch(self, key: str, read: ReadOutput) -> None:
        pieces, offset = list[str](), 0
        try:
            async with asyncio.timeout(ANSWER_WITHIN_S):
                while offset < MOST_BYTES:
                    chunk = await read(offset, PIECE_BYTES)
                    pieces.append(chunk.text)
                    if chunk.ended or chunk.next_offset <= offset:
                        break
                    offset = chunk.next_offset
        except KeyError:
            return  # it wrote nothing that is kept
        except Exception as error:  # its machine may be gone
            log.info("output was not fetched", key=key, error=f"{type(error).__name__}: {error}")
            return
        await self.keep(key, "".join(pieces))

    async def keep(self, key: str, text: str) -> None:
        """All that there is of it."""
        await asyncio.to_thread(self._keep, key, text)

    def _keep(self, key: str, text: str) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        written = self._path(key).with_suffix(".new")
        written.write_text(text, errors="surrogateescape")
        written.replace(self._path(key))
        ended_at = {path: path.stat().st_mtime for path in self._folder.glob("*.log")}
        for path in to_remove(ended_at, KEEP, KEEP_FOR_S, time.time()):
            path.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.log"
