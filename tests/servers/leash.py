"""Ends the servers of a test run that could not end them itself.

Fixtures stop what they started. A run that is killed outright never gets there, and its daemons would stay for days.
So the first server also starts this module as a process of its own, whose standard input is a pipe held open by the
test run: however that ends, the pipe closes. Then what still runs is told to stop, the last started first because it
may need the ones before it; what will not stop is killed; and the folders are removed.

Processes are held by pidfd, so that a number given to somebody else meanwhile is never touched. `Leash` is the test
run's end of the pipe; below it is the other end.
"""

import atexit
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO

from tests.servers.leftovers import remove_folder

GRACE_S = 20.0
REPOSITORY = Path(__file__).parents[2]


class Leash:
    """The end held by the test run; the other process starts with the first thing to hold."""

    def __init__(self) -> None:
        self._pipe: IO[bytes] | None = None

    def hold(self, pid: int) -> None:
        """From now on this process ends when the test run does."""
        self._say(f"hold {pid}")

    def release(self, pid: int) -> None:
        self._say(f"release {pid}")

    def hold_folder(self, folder: Path) -> None:
        """From now on this folder goes when the test run does, with whatever runs for it."""
        self._say(f"hold {folder}")

    def release_folder(self, folder: Path) -> None:
        self._say(f"release {folder}")

    def _say(self, line: str) -> None:
        if self._pipe is None:
            # Its own session: a Ctrl-C meant for the tests must not end what tidies up after them.
            process = subprocess.Popen(
                [sys.executable, "-m", __name__], cwd=REPOSITORY, stdin=subprocess.PIPE, start_new_session=True
            )
            assert process.stdin is not None
            self._pipe = process.stdin
            atexit.register(self._let_go, process)
        self._pipe.write(f"{line}\n".encode())
        self._pipe.flush()

    @staticmethod
    def _let_go(process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        process.stdin.close()
        process.wait()


def watch(commands: IO[bytes]) -> None:
    """Follows the test run until it is gone, then ends and removes what it left."""
    pidfds: dict[int, int] = {}
    folders: set[Path] = set()
    for line in commands:
        word, _, thing = line.decode().strip().partition(" ")
        if not thing.isdigit():
            (folders.add if word == "hold" else folders.discard)(Path(thing))
        elif word == "hold":
            with suppress(ProcessLookupError):  # it may have ended before we heard of it
                pidfds[int(thing)] = os.pidfd_open(int(thing))
        elif int(thing) in pidfds:
            os.close(pidfds.pop(int(thing)))
    for pidfd in reversed(pidfds.values()):
        _end(pidfd)
    for folder in folders:
        remove_folder(folder)


def _end(pidfd: int) -> None:
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(pidfd, signal.SIGTERM)
        # A pidfd becomes readable when its process has ended.
        if not select.select([pidfd], [], [], GRACE_S)[0]:
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)


if __name__ == "__main__":
    watch(sys.stdin.buffer)
