"""The output of a command, from a pipe into a file of bounded size.

The newest output is kept. What is older than `most_bytes` gives its space back, and the file keeps its length: a place
in the output has the same number for ever, and readers that follow it notice nothing (`backends/log_streams.py` skips
the hole). On a file system without holes the newest output is dropped instead, and the last line says so.

In the plain style of this package, for the same reason.
"""

import os

from dovetail.backends.local.supervisor.containment import punch_hole

BLOCK_BYTES = 65536
_PAGE = 4096


class OutputFile:
    """Hand `inlet` to the command; close it here with `handed_over`. `outlet` can be polled for more to `pump`."""

    def __init__(self, path: str, most_bytes: int | None) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        self._size = os.lseek(self._file, 0, os.SEEK_END)
        self._start = 0  # what is before has been given back
        self._most_bytes = most_bytes
        self._drops = False
        self.outlet, self.inlet = os.pipe()
        os.set_blocking(self.outlet, False)

    def handed_over(self) -> None:
        os.close(self.inlet)

    def pump(self) -> bool:
        """Write what there is, but not without end: the supervisor has other things to do. False: nobody can write any
        more."""
        for _ in range(16):
            try:
                block = os.read(self.outlet, BLOCK_BYTES)
            except BlockingIOError:
                return True
            if not block:
                return False
            self.write(block)
        return True

    def drain(self) -> None:
        """What is left in the pipe when nobody writes any more."""
        before = -1
        while self._size + self._start != before:
            before = self._size + self._start
            self.pump()

    def write(self, block: bytes) -> None:
        if self._drops:
            return
        try:
            rest = memoryview(block)
            while rest:
                written = os.write(self._file, rest)
                self._size += written
                rest = rest[written:]
            if self._most_bytes is not None and self._size - self._start > self._most_bytes:
                self._give_back(self._most_bytes)
        except OSError:  # a full disk: the command goes on, what does not fit is lost
            pass

    def _give_back(self, most_bytes: int) -> None:
        """Half of it, so that it need not be done for every block."""
        start = (self._size - most_bytes // 2) // _PAGE * _PAGE
        if start <= self._start:
            return
        try:
            punch_hole(self._file, self._start, start - self._start)
            self._start = start
        except OSError:
            self._drops = True
            words = f"\ndovetail: further output is dropped: it is longer than {most_bytes} bytes (output_limit)\n"
            os.write(self._file, words.encode())
