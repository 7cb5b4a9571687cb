"""One server process of a test: started in the foreground, waited for, killed, stopped.

A daemon keeps its log across restarts, and a start that fails says what the log says. Every daemon is on the leash
(`leash.py`), so that none outlives the test run. Which program, flags and folders make a useful server is left to the
modules beside this one, and so is what a daemon's own children do when it dies.
"""

import fcntl
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO

import httpx
import psutil
import pytest
from tests.servers.leash import Leash
from tests.servers.leftovers import remove_folder
from tests.servers.warm_process import WarmProcess

START_S = 120.0
"""How long a server may take: machines that test are busy, and a server that is never ready fails all the same."""
LOG_TAIL_CHARACTERS = 3000
SERVER_PORTS = range(10_000, 32_000)  # below those of outgoing connections (ip_local_port_range)
LEASH = Leash()
_ours = set[int]()  # ports that were given out by this process


class Daemon:
    """A process with a log, started as often as a test likes with the same command. One that is `warm` is a program of
    ours that spares its imports (`warm_process.py`)."""

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        folder: Path,
        environment: Mapping[str, str] | None = None,
        *,
        warm: bool = False,
    ) -> None:
        self.name, self.warm = name, warm
        self.log = folder / f"{name}.log"
        self._command = [str(part) for part in command]
        self._environment = {**os.environ, **(environment or {})}
        self._folder = folder
        self._process: subprocess.Popen[bytes] | WarmProcess | None = None

    def start(self, ready: Callable[[], bool]) -> None:
        """Starts the program and returns when `ready` says so; that may fail to connect while nothing listens."""
        assert not self.alive, f"{self.name} runs already"
        with self.log.open("ab") as log:
            self._process = self._popen(log)
        LEASH.hold(self._process.pid)
        try:
            self._wait(ready)
        except BaseException:
            self.kill()
            raise

    def _popen(self, log: IO[bytes]) -> subprocess.Popen[bytes] | WarmProcess:
        """In a session of its own: a Ctrl-C is the test run's, which then stops its servers in order."""
        folder, environment = self._folder, self._environment
        if self.warm:
            return WarmProcess(self._command, stdout=log, stderr=log, cwd=folder, env=environment)
        return subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )

    def _wait(self, ready: Callable[[], bool]) -> None:
        assert self._process is not None
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            try:
                if ready():
                    return
            except (OSError, httpx.TransportError):
                pass
            if self._process.poll() is not None:
                raise AssertionError(f"{self.name} ended with {self._process.returncode}; its log:\n{self.log_tail}")
            time.sleep(0.05)
        raise AssertionError(f"{self.name} was not ready in {START_S:.0f} s; its log:\n{self.log_tail}")

    @property
    def pid(self) -> int:
        assert self._process is not None, f"{self.name} was never started"
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def memory_bytes(self) -> int:
        return int(psutil.Process(self.pid).memory_info().rss)

    @property
    def log_tail(self) -> str:
        return self.log.read_text(errors="replace")[-LOG_TAIL_CHARACTERS:]

    def kill(self) -> None:
        """As a power cut would: no chance to tidy up."""
        self._end(signal.SIGKILL)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stopped with SIGSTOP: it keeps its connections, and answers nothing until the end."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def stop(self, grace_s: float = 20.0) -> None:
        """Asks it to end and waits; one that will not is killed."""
        try:
            self._end(signal.SIGTERM, grace_s)
        except subprocess.TimeoutExpired:
            self.kill()

    def _end(self, number: signal.Signals, patience_s: float | None = None) -> None:
        if self._process is None:
            return
        self._process.send_signal(number)
        self._process.wait(patience_s)
        LEASH.release(self._process.pid)


def free_ports(count: int) -> list[int]:
    """Distinct ports of the loopback that nobody listens on now. They belong to this process as long as it lives: a
    server that is killed finds its port free when it starts again, as no other test run gets it, and the kernel gives
    it to no connection."""
    found = list[int]()
    while len(found) < count:
        port = secrets.choice(SERVER_PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            fcntl.lockf(_given_out(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
            if port not in _ours:  # to the thread that was the first to get it
                _ours.add(port)
                found.append(port)
    return found


@cache
def _given_out() -> int:
    """A file of which each process locks the bytes whose numbers are those of its ports."""
    path = Path(tempfile.gettempdir(), f"dovetail-test-ports-{os.geteuid()}")
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


@contextmanager
def server_folder(name: str) -> Iterator[Path]:
    """A folder for one server, with a path short enough for the sockets in it, removed at the end with all it left."""
    folder = Path(tempfile.mkdtemp(prefix=f"dovetail-{name}-"))
    LEASH.hold_folder(folder)
    try:
        yield folder
    finally:
        remove_folder(folder)
        LEASH.release_folder(folder)


def skip_without(*programs: str, root: bool = False) -> None:
    """Skips the test that asked, with the one line that says what this machine lacks."""
    if root and os.geteuid() != 0:
        pytest.skip(f"{programs[0]} can only be started by root")
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
