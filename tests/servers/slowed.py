"""A daemon that is given only a share of the time, as by a quota of its cgroup or on a machine that is too busy."""

import os
import signal
import threading
from contextlib import suppress

from tests.servers.daemon import Daemon

RUNS_S, STANDS_S = 0.05, 0.2


class Slowed:
    """From `start` to `end` the daemon runs for a fifth of the time."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(RUNS_S):
            with suppress(ProcessLookupError):
                os.kill(self._daemon.pid, signal.SIGSTOP)
                self._over.wait(STANDS_S)
                os.kill(self._daemon.pid, signal.SIGCONT)
