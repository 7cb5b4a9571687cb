"""A note on stderr while something takes longer than a second: what is waited for, and for how long.

`PatientNote` is told of every request to the server, so that every command has it. `told_if_slow` is for what a command
does by itself. Commands that know more, such as how many jobs have ended, say it with `screen.status_line`.
Guarantees: only on a terminal; what takes less than a second leaves no trace; the line is gone before anything else is
printed. Several requests without a pause between them count as one: pages of a list, one question for each of many.
"""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from dovetail.cli.terminal.screen import status_line

AFTER_S = 1.0
_PAUSE_S = 0.3  # who asks nothing for so long is not busy: the next question begins anew
_NEXT_PICTURE_S = 0.12
_PICTURES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class PatientNote:
    """`words`: what is waited for."""

    def __init__(self, words: str) -> None:
        self._words = words
        self._began = self._ended = 0.0
        self._questions = 0

    def while_asking(self) -> AbstractContextManager[None]:
        """Around one question."""
        return self._noting() if sys.stderr.isatty() else nullcontext()

    @contextmanager
    def _noting(self) -> Iterator[None]:
        now = time.monotonic()
        if now - self._ended > _PAUSE_S:
            self._began, self._questions = now, 0
        self._questions += 1
        more = f", question {self._questions}" if self._questions > 1 else ""
        with _noted(f"{self._words}{more}", self._began):
            try:
                yield
            finally:
                self._ended = time.monotonic()


def told_if_slow(words: str) -> AbstractContextManager[None]:
    """Around what this program does itself."""
    return _noted(words, time.monotonic()) if sys.stderr.isatty() else nullcontext()


@contextmanager
def _noted(words: str, began: float) -> Iterator[None]:
    done = threading.Event()
    waiting = threading.Thread(target=_note, args=(words, began, done), daemon=True)
    waiting.start()
    try:
        yield
    finally:
        done.set()
        waiting.join()


def _note(words: str, began: float, done: threading.Event) -> None:
    if done.wait(max(_NEXT_PICTURE_S, began + AFTER_S - time.monotonic())):
        return
    picture = 0
    with status_line() as tell:
        while True:
            tell(f"{_PICTURES[picture % len(_PICTURES)]} {words}, {time.monotonic() - began:.0f} s")
            if done.wait(_NEXT_PICTURE_S):
                return
            picture += 1
