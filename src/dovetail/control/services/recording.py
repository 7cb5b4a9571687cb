"""Recording: every durable step goes into a file, with all that the engine heard, for `dovetail replay`.

Guarantees: scheduling never waits for it. One thread writes; if that cannot keep up, or the disk is full, steps are
left out and a new segment begins once it can, with a checkpoint of its own, so no segment has a hole. Only the owner of
the server can read the files. What is too old or too much is deleted, oldest segment first.
"""

import os
import queue
import threading
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from dovetail.control.errors import NotFound
from dovetail.control.settings.server import RecordingSettings
from dovetail.engine.settings import EngineSettings
from dovetail.model.batch import Batch
from dovetail.model.record import Snapshot
from dovetail.recordings.segment import SUFFIX, checkpoint_line, name_of, step_line, time_of
from dovetail.store.contract import Store

MOST_WAITING = 2000  # steps
PART_OF_ALL = 4  # a segment is at most such a part of the largest size
OWNER_ONLY = 0o600
#: What is written meanwhile is written together: a thread that wakes up takes the interpreter from the control loop.
REST_S = 0.05

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class RecordingFile:
    """`at`: when its checkpoint was taken."""

    name: str
    at: float
    size_bytes: int


@dataclass(frozen=True, slots=True)
class _NewSegment:
    at: float
    read: Callable[[], Snapshot]
    continues: bool


class RecordingService:
    def __init__(self, settings: RecordingSettings, scheduling: EngineSettings, data: Path, store: Store) -> None:
        self.folder = data / "recordings"
        self._settings, self._store = settings, store
        self._scheduling: dict[str, Any] = scheduling.model_dump(mode="json", exclude_unset=True)
        self._work: queue.SimpleQueue[_NewSegment | Batch | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._ends = threading.Event()
        self._began_at = 0.0
        self._gap = False  # steps were left out
        self._full = False  # the segment is as large as it may be
        self._file: int | None = None
        self._packer = zlib.compressobj(wbits=31)
        self._size = 0

    def begin(self, snapshot: Snapshot, now: float) -> None:
        """The server has restored this and begins."""
        if not self._settings.enabled:
            return
        self._began_at = now
        self._ends.clear()
        self._work.put(_NewSegment(now, lambda: snapshot, continues=False))
        self._thread = threading.Thread(target=self._write_all, name="recording", daemon=True)
        self._thread.start()

    def take(self, batch: Batch) -> None:
        """A step that was just written, before the next one is. On the thread of the loop."""
        if self._thread is None or not batch.heard:
            return
        waiting = self._work.qsize()
        if self._gap and waiting:
            return
        if self._gap or self._full or batch.at - self._began_at > self._settings.segment:
            # The step is in the checkpoint and in the segment before it: nothing was written since.
            if not self._gap:
                self._work.put(batch)
            self._work.put(_NewSegment(batch.at, self._store.restore_later(), continues=not self._gap))
            self._began_at, self._gap, self._full = batch.at, False, False
            return
        if waiting > MOST_WAITING:
            log.warning("the recording cannot keep up; steps are left out", waiting=waiting)
            self._gap = True
            return
        self._work.put(batch)

    def close(self) -> None:
        """Everything is written when it returns."""
        if self._thread is not None:
            self._work.put(None)
            self._ends.set()
            self._thread.join()
            self._thread = None

    def files(self) -> list[RecordingFile]:
        """Oldest first."""
        found = sorted(self.folder.glob(f"*{SUFFIX}"))
        return [RecordingFile(one.name, time_of(one.name), one.stat().st_size) for one in found]

    def piece(self, name: str, offset: int, most: int) -> tuple[bytes, bool]:
        """At most so many bytes, and whether there are more. Raises NotFound."""
        sizes = {one.name: one.size_bytes for one in self.files()}
        if name not in sizes:
            raise NotFound(f"there is no recording {name!r}; GET /recordings lists them")
        if offset >= sizes[name]:  # farther than files may reach is an error of the system
            return b"", False
        with (self.folder / name).open("rb") as file:
            file.seek(offset)
            data = file.read(most + 1)
        return data[:most], len(data) > most

    # --- on its own thread -------------------------------------------------------------------------------------

    def _write_all(self) -> None:
        while (item := self._work.get()) is not None:
            try:
                if isinstance(item, _NewSegment):
                    self._begin_segment(item)
                elif self._file is not None:
                    self._append(step_line(item))
                if self._work.empty():
                    self._flush(zlib.Z_SYNC_FLUSH)
                    self._ends.wait(REST_S)
            except Exception as error:  # whatever it is, scheduling goes on; the next segment tries again
                log.warning("the recording was interrupted", error=str(error))
                self._drop_file()
                self._gap = True
        self._end_segment()

    def _begin_segment(self, item: _NewSegment) -> None:
        self._end_segment()
        snapshot = item.read()
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self._tidy(item.at)
        definitions = self._store.spec_jsons([workload.id for workload in snapshot.workloads])
        path = self.folder / name_of(item.at)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, OWNER_ONLY)
        self._packer, self._size = zlib.compressobj(wbits=31), 0
        self._append(checkpoint_line(item.at, self._scheduling, snapshot, definitions, continues=item.continues))

    def _append(self, line: bytes) -> None:
        self._write(self._packer.compress(line))

    def _flush(self, how: int) -> None:
        if self._file is not None:
            self._write(self._packer.flush(how))

    def _write(self, data: bytes) -> None:
        assert self._file is not None
        if data:
            os.write(self._file, data)
            self._size += len(data)
            self._full = self._size > self._settings.max_size / PART_OF_ALL

    def _end_segment(self) -> None:
        if self._file is not None:
            self._flush(zlib.Z_FINISH)
            self._drop_file()

    def _drop_file(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _tidy(self, now: float) -> None:
        """A segment goes when the next one begins before what is kept, or when all are too large."""
        files = self.files()
        size = sum(one.size_bytes for one in files)
        most = self._settings.max_size * (PART_OF_ALL - 1) / PART_OF_ALL
        ends = [file.at for file in files[1:]] + [now]
        for one, after in zip(files, ends, strict=False):
            if after < now - self._settings.keep or size > most:
                (self.folder / one.name).unlink(missing_ok=True)
                size -= one.size_bytes
