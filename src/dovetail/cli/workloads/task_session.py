"""Shows what a command next to a task writes, or an attached task, and passes on what is typed or piped in.

Guarantees: with a terminal, every key goes to the command, Ctrl-C as well, and the terminal is as it was before when
this ends. Input is sent in order, and each byte once.
"""

import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from threading import Thread
from typing import TYPE_CHECKING, Any

from dovetail.cli.terminal.screen import screen_size

if TYPE_CHECKING:
    from dovetail.client import Client
    from dovetail.client.calls.workload_changes import CommandOutput

_BLOCK_BYTES = 32 * 1024
_RESIZED = b"r"


class TaskSession:
    """One command, by its id. `terminal`: this one is the terminal of the command."""

    def __init__(self, client: "Client", id_: str, *, sends_input: bool, terminal: bool = False) -> None:
        self._client, self._id = client, id_
        self._sends_input, self._terminal = sends_input, terminal
        self._wake = os.pipe()

    def run(self) -> "CommandOutput":
        """Until the command has ended: the last piece of its output, with its exit code."""
        sending = Thread(target=self._send, daemon=True) if self._sends_input else None
        try:
            with _raw_terminal() if self._terminal else nullcontext(), self._resizing():
                if sending is not None:
                    sending.start()
                return self._show()
        finally:
            os.close(self._wake[1])  # which ends the thread
            self._client.end_exec(self._id)

    def _show(self) -> "CommandOutput":
        offset = 0
        while True:
            piece = self._client.exec_output(self._id, offset=offset)
            sys.stdout.buffer.write(piece.content)
            sys.stdout.buffer.flush()
            offset = piece.next_offset
            if piece.ended and not piece.content:
                return piece

    # --- the thread that sends -------------------------------------------------------------------------------

    def _send(self) -> None:
        from dovetail.client import ConnectError, DovetailError

        try:
            self._send_all()
        except (ConnectError, DovetailError):
            return  # it has ended; the other thread says how, or meets the same
        finally:
            os.close(self._wake[0])

    def _send_all(self) -> None:
        offset, stdin = 0, sys.stdin.fileno()
        while True:
            ready, _, _ = select.select([stdin, self._wake[0]], [], [])
            if self._wake[0] in ready:
                if not os.read(self._wake[0], 1):
                    return
                self._client.resize_exec(self._id, *terminal_size())
                continue
            content = os.read(stdin, _BLOCK_BYTES)
            offset = self._sent(content, offset)
            if not content:
                return

    def _sent(self, content: bytes, offset: int) -> int:
        """Again and again while the command has not read what was sent before."""
        until = offset + len(content)
        while True:
            rest = content[len(content) - (until - offset) :]
            offset = self._client.exec_input(self._id, rest, offset=offset, end=not content)
            if offset >= until:
                return offset

    @contextmanager
    def _resizing(self) -> Iterator[None]:
        if not self._terminal:
            yield
            return

        def tell(*_: Any) -> None:
            os.write(self._wake[1], _RESIZED)

        before = signal.signal(signal.SIGWINCH, tell)
        try:
            yield
        finally:
            signal.signal(signal.SIGWINCH, before)


def terminal_size() -> tuple[int, int]:
    """Rows and columns of this terminal."""
    found = screen_size()
    return found.lines, found.columns


@contextmanager
def _raw_terminal() -> Iterator[None]:
    """Keys are passed on as they are typed, and nothing is echoed here: the terminal of the command does that."""
    import termios
    import tty

    stdin = sys.stdin.fileno()
    before = termios.tcgetattr(stdin)
    tty.setraw(stdin)
    try:
        yield
    finally:
        termios.tcsetattr(stdin, termios.TCSADRAIN, before)
