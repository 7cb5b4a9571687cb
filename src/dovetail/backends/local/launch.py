"""Starts supervisors: detached, cheap, and with nothing of the control plane except their run folder.

A supervisor has its own session and standard files, so no signal to the control plane's group or terminal reaches it.
It is compiled once per start of the backend, which saves that time for every attempt.
"""

import errno
import os
import py_compile
import signal
import sys
import time
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from dovetail.backends.local import supervisor
from dovetail.backends.local.run_folder import SUPERVISOR_LOG, LocalRunFolder, RunPhase

_PACKAGES = ("dovetail", "dovetail/backends", "dovetail/backends/local", "dovetail/backends/local/supervisor")
_MODULES = Path(str(supervisor.__file__)).parent


class Launcher:
    def __init__(self, folder: Path) -> None:
        self._root = folder / ".supervisor"
        self.program = self._root / _PACKAGES[-1] / "main.pyc"
        self._children: set[int] = set()  # their pids are not reused until they are reaped

    def compile(self) -> None:
        """The package of the supervisor, in packages of the same names that hold nothing else."""
        for draft in self._root.rglob("*.pyc.*"):  # of a server that was killed meanwhile
            draft.unlink()
        for package in _PACKAGES:
            folder = self._root / package
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _compile(os.devnull, folder / "__init__.pyc")
        for source in _MODULES.glob("[!_]*.py"):
            _compile(str(source), self.program.with_name(f"{source.stem}.pyc"))

    def check(self) -> None:
        """Raises OSError if no supervisor can be started now. Makes the program again if it was removed."""
        folder = self._root.parent
        os.scandir(folder).close()
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
        if not self.program.exists():
            self.compile()

    def launch(self, run: LocalRunFolder) -> int | None:
        """Start a supervisor for an attempt without one; returns its pid. None: the attempt already has one."""
        if run.look().phase is not RunPhase.ORDERED:
            return None
        log = str(run.path / SUPERVISOR_LOG)
        append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", "-X", "utf8", str(self.program), str(run.path)],
            {"LC_ALL": "C.UTF-8"},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, log, append, 0o600),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsid=True,
            setsigmask=[],
            setsigdef=[signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP],
        )
        self._children.add(pid)
        return pid

    def reap(self) -> None:
        for pid in list(self._children):
            try:
                gone, _ = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:  # another part of this process waited for all children
                gone = pid
            if gone:
                self._children.discard(pid)

    def is_running(self, pid: int) -> bool:
        """Whether this supervisor is still running, as of the last `reap`."""
        return pid in self._children


def _compile(source: str, target: Path) -> None:
    """Replaces the target at once: supervisors start meanwhile. The draft has a name that no other process uses; the
    number of this one is not enough, as a killed server may have had it."""
    draft = target.with_name(f"{target.name}.{os.getpid()}.{time.monotonic_ns()}")
    draft.write_bytes(_bytecode(source))
    draft.replace(target)


@cache
def _bytecode(source: str) -> bytes:
    """Once a process: a program that is made again is that of this server, whatever was installed meanwhile."""
    with TemporaryDirectory() as folder:
        compiled = Path(folder) / "module.pyc"
        py_compile.compile(source, cfile=str(compiled), doraise=True)
        return compiled.read_bytes()
