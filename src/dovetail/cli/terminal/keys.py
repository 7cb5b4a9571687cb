"""Single keys from the terminal, as they are pressed.

Guarantees: when the block ends, however that comes about, the terminal is as it was: also after an exception, and after
SIGTERM or SIGHUP, which end the block as an exit. Waiting ends early when a key is pressed, when the terminal changes
its size, or when another thread calls `wake`. Only where there is a terminal of POSIX.
"""

import codecs
import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

#: What terminals send for keys that have no character. Both the normal and the application form.
_SEQUENCES = {
    "[A": "up", "OA": "up", "[B": "down", "OB": "down", "[C": "right", "OC": "right", "[D": "left", "OD": "left",
    "[H": "home", "OH": "home", "[1~": "home", "[7~": "home", "[F": "end", "OF": "end", "[4~": "end", "[8~": "end",
    "[5~": "page up", "[6~": "page down", "[3~": "delete", "[Z": "back tab",
}  # fmt: skip
_CHARACTERS = {"\r": "enter", "\n": "enter", "\t": "tab", "\x7f": "backspace", "\x08": "backspace", "\x0c": "redraw"}
_ESCAPE = "\x1b"
_MOST_BYTES = 1024
_REST_OF_SEQUENCE_S = 0.05  # a lone Escape is one that nothing follows for so long


class Keys:
    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._woken, self._wakes = os.pipe()
        os.set_blocking(self._wakes, False)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="ignore")

    def wake(self) -> None:
        """End the waiting; from any thread, and from a signal handler."""
        try:
            os.write(self._wakes, b"!")
        except OSError:  # it is woken already, or has ended
            return

    def pressed(self, within_s: float) -> list[str]:
        """The keys pressed, at the latest after so long: characters as they are, others by name (`up`, `enter`). None,
        if something else ended the waiting."""
        ready, _, _ = select.select([self._terminal, self._woken], [], [], within_s)
        if self._woken in ready:
            os.read(self._woken, _MOST_BYTES)
        return keys_in(self._typed()) if self._terminal in ready else []

    def _typed(self) -> str:
        found = self._read()
        while found.endswith((_ESCAPE, f"{_ESCAPE}[", f"{_ESCAPE}O")):
            if not select.select([self._terminal], [], [], _REST_OF_SEQUENCE_S)[0]:
                break
            found += self._read()
        return found

    def _read(self) -> str:
        got = os.read(self._terminal, _MOST_BYTES)
        if not got:  # the terminal has gone
            raise SystemExit(0)
        return self._decoder.decode(got)

    def close(self) -> None:
        os.close(self._woken)
        os.close(self._wakes)


def keys_in(typed: str) -> list[str]:
    """`a\\x1b[B` is `a` and `down`. A sequence that is not known is left out."""
    found: list[str] = []
    place = 0
    while place < len(typed):
        sign = typed[place]
        place += 1
        if sign == _ESCAPE:
            length = _sequence_length(typed[place:])
            sequence = typed[place : place + length]
            place += length
            if key := _SEQUENCES.get(sequence, "" if sequence else "escape"):
                found.append(key)
        elif key := _CHARACTERS.get(sign, sign if sign.isprintable() else ""):
            found.append(key)
    return found


def _sequence_length(rest: str) -> int:
    """How much after an Escape belongs to it: `[`, figures, and one letter or `~`."""
    if not rest or rest[0] not in "[O":
        return 0
    for place, sign in enumerate(rest[1:], start=2):
        if sign.isalpha() or sign == "~":
            return place
    return len(rest)


@contextmanager
def single_keys() -> Iterator[Keys]:
    """Keys are not shown and need no Enter inside the block. Ctrl-C still interrupts."""
    import termios
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    keys = Keys(terminal)

    def resized(_number: int, _frame: FrameType | None) -> None:
        keys.wake()

    handlers: dict[signal.Signals, Any] = {signal.SIGTERM: _end, signal.SIGHUP: _end, signal.SIGWINCH: resized}
    kept = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        tty.setcbreak(terminal)
        _without_stopping(terminal)
        yield keys
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        for number, handler in kept.items():
            signal.signal(number, handler)
        keys.close()


def _without_stopping(terminal: int) -> None:
    """Ctrl-Z would leave a shell on a screen that is not its own."""
    import termios

    changed = termios.tcgetattr(terminal)
    changed[6][termios.VSUSP] = b"\x00"
    termios.tcsetattr(terminal, termios.TCSADRAIN, changed)


def _end(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
