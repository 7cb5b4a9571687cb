"""A named pipe through which supervisors ask the backend to look at their run folder, also those of an earlier start.

A ring is a hint: it may be repeated or lost (no listener, pipe full), so the watcher also looks at regular intervals.

"""

import asyncio
import os
import stat
from collections.abc import Callable
from pathlib import Path

from dovetail.backends.local.supervisor import DOORBELL


class Doorbell:
    def __init__(self, folder: Path, rung: Callable[[list[str]], None]) -> None:
        self._path = folder / DOORBELL
        self._rung = rung
        self._file: int | None = None
        self._rest = b""

    def open(self) -> None:
        """Needs a running event loop."""
        if not self._path.exists() or not stat.S_ISFIFO(self._path.stat().st_mode):
            self._path.unlink(missing_ok=True)
            os.mkfifo(self._path, 0o600)
        # Open for reading and writing: it then never reports end of file when the last supervisor closes it.
        self._file = os.open(self._path, os.O_RDWR | os.O_NONBLOCK)
        asyncio.get_running_loop().add_reader(self._file, self._hear)

    def close(self) -> None:
        if self._file is not None:
            asyncio.get_running_loop().remove_reader(self._file)
            os.close(self._file)
            self._file = None

    def _hear(self) -> None:
        assert self._file is not None
        try:
            heard = os.read(self._file, 65536)
        except BlockingIOError:
            return
        *keys, self._rest = (self._rest + heard).split(b"\n")
        self._rung([key.decode(errors="replace") for key in keys])
