"""Starts supervisors: detached, cheap, and with nothing of the control plane except their run folder.

A supervisor has its own session and standard files, so no signal to the control plane's group or terminal reaches it.
It is compiled once per start of the backend, which saves that time for every attempt.
"""

import os
import py_compile
import signal
import sys
from pathlib import Path

from dovetail.backends.local import supervisor
from dovetail.backends.local.run_folder import SUPERVISOR_LOG, LocalRunFolder, RunPhase


class Launcher:
    def __init__(self, folder: Path) -> None:
        self._program = folder / ".supervisor.pyc"
        self._children: set[int] = set()  # their pids are not reused until they are reaped

    def compile(self) -> None:
        py_compile.compile(supervisor.__file__, cfile=str(self._program), doraise=True)

    def launch(self, run: LocalRunFolder) -> int | None:
        """Start a supervisor for an attempt without one; returns its pid. None: the attempt already has one."""
        if run.look().phase is not RunPhase.ORDERED:
            return None
        log = str(run.path / SUPERVISOR_LOG)
        append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", "-X", "utf8", str(self._program), str(run.path)],
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
