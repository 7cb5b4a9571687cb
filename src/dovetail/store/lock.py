"""One server per database: an advisory lock on a file beside it.

Guarantees: at most one holder, also within one process; the lock ends with its holder, however that ended; a refused
process is told the holder's process id. The lock file stays: if it were removed, two processes could lock two files.
"""

import errno
import fcntl
import os
from pathlib import Path

from dovetail.store.contract import StoreError


class DatabaseLock:
    def __init__(self, database: Path) -> None:
        self.path = database.with_name(database.name + ".lock")
        self._database = database
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Raises StoreError if another process holds it, OSError if the file cannot be created."""
        # The descriptor is closed on exec, so a task that this process starts does not keep the lock.
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        except OSError as error:
            holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
            os.close(descriptor)
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
            raise StoreError(
                f"{self._database} is in use by another Dovetail server "
                f"({'process ' + holder if holder else 'its process id is not known yet'}). "
                "Stop that server, or give this one another database."
            ) from None
        self._descriptor = descriptor

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
