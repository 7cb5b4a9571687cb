"""A program on a terminal of its own: a real pty, and pyte, which keeps the screen as a person would see it."""

import os
import pty
import select
import subprocess
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pyte

PATIENCE_S = 60.0
LAST_WORDS_S = 5.0


class ScreenProcess:
    """`press` types, `until` waits for words on the screen. Output is read all the time, as a terminal does."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], columns: int = 80, lines: int = 24) -> None:
        self._ours, self.theirs = pty.openpty()
        self.screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self.screen)
        self._lock = threading.Lock()
        self.raw = b""
        termios.tcsetwinsize(self.theirs, (lines, columns))
        self.before = termios.tcgetattr(self.theirs)
        shown = {name: value for name, value in env.items() if name not in ("COLUMNS", "LINES")}
        self.process = subprocess.Popen(
            command, stdin=self.theirs, stdout=self.theirs, stderr=self.theirs, env=shown, preexec_fn=self._own_terminal
        )
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._closed = threading.Event()
        self._reading.start()

    def _own_terminal(self) -> None:
        """In the child: the pty becomes its controlling terminal, so that it hears of new sizes and of Ctrl-C."""
        import fcntl

        os.setsid()
        fcntl.ioctl(self.theirs, termios.TIOCSCTTY, 0)

    def _read(self) -> None:
        while not self._closed.is_set():
            if select.select([self._ours], [], [], 0.1)[0]:
                try:
                    got = os.read(self._ours, 65536)
                except OSError:
                    return
                with self._lock:
                    self.raw += got
                    self._stream.feed(got)

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def text(self) -> str:
        with self._lock:
            return "\n".join(line.rstrip() for line in self.screen.display)

    def until(self, *words: str, gone: Sequence[str] = ()) -> str:
        """The screen, once all these words are on it and none of the others is."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if self.process.poll() is not None:  # its last words may not have been read yet
                deadline = min(deadline, time.monotonic() + LAST_WORDS_S)
            found = self.text()
            if all(word in found for word in words) and not any(word in found for word in gone):
                return found
            time.sleep(0.02)
        state = self.process.poll()
        ended = "it still runs" if state is None else f"it ended with {state}"
        raise AssertionError(f"not on the screen: {words} without {list(gone)}; {ended}\n{self.text()}")

    def line_with(self, words: str) -> str:
        """Empty if there is none now: what is read may be half a frame."""
        return next((line for line in self.text().splitlines() if words in line), "")

    def resize(self, columns: int, lines: int) -> None:
        with self._lock:
            self.screen.resize(lines, columns)
        termios.tcsetwinsize(self.theirs, (lines, columns))

    def settings(self) -> list[Any]:
        return termios.tcgetattr(self.theirs)

    def __enter__(self) -> "ScreenProcess":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._closed.set()
        self._reading.join()
        os.close(self._ours)
        os.close(self.theirs)
