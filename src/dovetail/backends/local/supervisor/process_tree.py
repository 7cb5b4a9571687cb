"""All processes of one attempt: finds them, signals them, ends them.

How they are found, the surest way first:

- a namespace: the kernel knows them all, and ends them all with its init;
- cgroups: a process cannot leave those that it may not write to;
- neither: everything below the supervisor, which adopts orphans, so that a process that forks twice or begins a session
  of its own is found too. Only for a supervisor that lives; else what is left of the process group.

In the plain style of this package, for the same reason.
"""

# ruff: noqa: PTH106, PTH115, PTH123, PTH208, SIM105

import os
import time

from dovetail.backends.local.supervisor.containment import Namespace
from dovetail.backends.local.supervisor.process_identity import stat_of
from dovetail.backends.local.supervisor.run_files import read_text

SWEEP_UP_S = 5.0  # how long killed processes may take to go before the result is written anyway
_KILL, _STOP = 9, 19


def cgroup_pids(cgroups: list[str]) -> set[int]:
    texts = [read_text(f"{path}/cgroup.procs") or "" for path in cgroups]
    return {int(pid) for text in texts for pid in text.split()}


def remove_cgroups(cgroups: list[str]) -> None:
    """A cgroup can be busy for a moment after its last process went."""
    for path in cgroups:
        for _ in range(50):
            try:
                os.rmdir(path)
                break
            except FileNotFoundError:
                break
            except OSError:
                time.sleep(0.01)


class ProcessTree:
    """`group`: the process group of the command, if it is known. `below`: the supervisor, if it adopts orphans."""

    def __init__(
        self, group: int | None, cgroups: list[str], namespace: Namespace | None = None, below: int | None = None
    ) -> None:
        self._group = group
        self._cgroups = cgroups
        self._namespace = namespace
        self._below = below

    def remains(self) -> bool:
        """Whether any process of the attempt still lives."""
        if self._cgroups:
            return bool(cgroup_pids(self._cgroups))
        return bool(self._members())

    def signal(self, signo: int) -> None:
        """Once to each process."""
        if self._namespace is not None:
            self._namespace.signal(signo)
            return
        if self._group is not None:
            try:
                os.killpg(self._group, signo)
            except (ProcessLookupError, PermissionError):
                pass
        for pid in self._members() | cgroup_pids(self._cgroups):
            try:
                if os.getpgid(pid) != self._group:
                    os.kill(pid, signo)
            except (ProcessLookupError, PermissionError):
                pass

    def sweep_up(self) -> None:
        """Kill what is left, until nothing remains. Nothing can be born while that happens, or only what is found."""
        for path in self._cgroups:
            _write_if_there(f"{path}/pids.max", "0")
            _write_if_there(f"{path}/cgroup.kill", "1")
        if self._namespace is not None:
            self._namespace.end()
        until = time.monotonic() + SWEEP_UP_S
        self._kill()
        while self.remains() and time.monotonic() < until:
            time.sleep(0.005)
            self._kill()

    def reap_orphans(self, command: int) -> None:
        """Those that the supervisor adopted. The command itself is left for its status to be read."""
        while self._below is not None:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None or ended.si_pid == command:
                return
            os.waitpid(ended.si_pid, os.WNOHANG)

    def _kill(self) -> None:
        if self._namespace is not None:
            return
        if self._below is not None:
            self._stop_all()
        self.signal(_KILL)

    def _stop_all(self) -> None:
        """A process that is stopped cannot fork, so at last all of them are found."""
        stopped: set[int] = set()
        for _ in range(100):
            found = self._members() - stopped
            if not found:
                return
            for pid in found:
                try:
                    os.kill(pid, _STOP)
                except (ProcessLookupError, PermissionError):
                    pass
            stopped |= found

    def _members(self) -> set[int]:
        """By a walk through /proc: only for attempts without a cgroup."""
        if self._cgroups:
            return set()
        if self._namespace is not None:
            return _in_namespace_of(self._namespace.init)
        if self._below is not None:
            return _descendants(self._below)
        group = str(self._group)
        return {pid for pid in _pids() if stat_of(pid)[2:3] == [group]} if self._group is not None else set()


def _pids() -> list[int]:
    return [int(pid) for pid in os.listdir("/proc") if pid.isdigit()]


def _descendants(of: int) -> set[int]:
    children: dict[int, list[int]] = {}
    for pid in _pids():
        fields = stat_of(pid)
        if fields:
            children.setdefault(int(fields[1]), []).append(pid)
    found: set[int] = set()
    todo = [of]
    while todo:
        new = [pid for pid in children.get(todo.pop(), []) if pid not in found]
        found.update(new)
        todo += new
    return found


def _in_namespace_of(init: int) -> set[int]:
    """The living processes in the namespace of that init, without it."""
    try:
        wanted = os.readlink(f"/proc/{init}/ns/pid")
    except OSError:
        return set()
    found = set()
    for pid in _pids():
        try:
            if pid != init and os.readlink(f"/proc/{pid}/ns/pid") == wanted and stat_of(pid):
                found.add(pid)
        except OSError:
            pass
    return found


def _write_if_there(path: str, text: str) -> None:
    try:
        with open(path, "r+") as file:
            file.write(text)
    except OSError:
        pass
