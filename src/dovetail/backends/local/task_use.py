"""Measures what running attempts use: from their cgroups, v1 or v2, and from their processes where there are none.

CPU is a rate, measured between two calls. With cgroup v2 everything is counted by the kernel, with processes that have
ended; with v1, CPU and memory are, and disk is the sum over the processes that were seen; without cgroups that is so
for everything. There is no pressure without v2, and no network: commands use that of the machine.
"""

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from dovetail.backends.contract import MeasuredTask
from dovetail.model.task_use import TaskUse


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """An attempt, its cgroups, and its supervisor, below which its processes are."""

    key: str
    cgroups: tuple[Path, ...]
    supervisor: int | None


@dataclass(slots=True)
class _Counters:
    """Of an attempt, as they were at `at`. Disk by process: a process that has ended counts on."""

    at: float
    cpu_s: float
    read_bytes: dict[int, int] = field(default_factory=dict)
    written_bytes: dict[int, int] = field(default_factory=dict)
    cpu_of: dict[int, float] = field(default_factory=dict)


class TaskMeter:
    def __init__(self, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._monotonic_s = monotonic_s
        self._before: dict[str, _Counters] = {}

    def measure(self, runs: Iterable[MeasuredRun]) -> dict[str, MeasuredTask]:
        """By key. An attempt that ended meanwhile is left out. Reads files: call it on a thread."""
        now: dict[str, _Counters] = {}
        found = {}
        for run in runs:
            with contextlib.suppress(OSError, ValueError, psutil.Error):
                found[run.key] = self._measured(run, now)
        self._before = now
        return found

    def _measured(self, run: MeasuredRun, now: dict[str, _Counters]) -> MeasuredTask:
        pids = _pids(run)
        before = self._before.get(run.key)
        counters = _Counters(self._monotonic_s(), 0.0) if before is None else _copied(before, self._monotonic_s())
        use: dict[str, float | int | None] = {}
        v2 = next((path for path in run.cgroups if (path / "memory.current").exists()), None)
        if v2 is not None:
            use |= _unified_use(v2)
            counters.cpu_s = _keyed(v2 / "cpu.stat").get("usage_usec", 0) / 1e6
        else:
            use |= _memory_of_v1(run.cgroups)
            counters.cpu_s = _count(run.cgroups, pids, counters)
            if (run.cgroups and use.get("memory_bytes") is None) or not run.cgroups:
                use["memory_bytes"] = _resident_bytes(pids)
        if use.get("disk_read_bytes") is None:
            use["disk_read_bytes"] = sum(counters.read_bytes.values())
            use["disk_written_bytes"] = sum(counters.written_bytes.values())
        if before is not None and counters.at > before.at:
            use["cpu_cores"] = round(max(0.0, counters.cpu_s - before.cpu_s) / (counters.at - before.at), 4)
        now[run.key] = counters
        return MeasuredTask(TaskUse.model_validate(use), pids)


def _copied(before: _Counters, at: float) -> _Counters:
    return _Counters(at, before.cpu_s, dict(before.read_bytes), dict(before.written_bytes), dict(before.cpu_of))


def _pids(run: MeasuredRun) -> frozenset[int]:
    if run.cgroups:
        texts = [(path / "cgroup.procs").read_text() for path in run.cgroups[:1]]
        return frozenset(int(pid) for text in texts for pid in text.split())
    if run.supervisor is None:
        return frozenset()
    return frozenset(child.pid for child in psutil.Process(run.supervisor).children(recursive=True))


def _unified_use(path: Path) -> dict[str, float | int | None]:
    """cgroup v2."""
    idle = _keyed(path / "memory.stat").get("inactive_file", 0)
    found: dict[str, float | int | None] = {
        "memory_bytes": max(0, int((path / "memory.current").read_text()) - idle),
        "cpu_pressure": pressure(path / "cpu.pressure"),
        "memory_pressure": pressure(path / "memory.pressure"),
        "io_pressure": pressure(path / "io.pressure"),
    }
    with contextlib.suppress(OSError):
        pairs = [pair.partition("=") for pair in (path / "io.stat").read_text().split() if "=" in pair]
        found["disk_read_bytes"] = sum(int(value) for name, _, value in pairs if name == "rbytes")
        found["disk_written_bytes"] = sum(int(value) for name, _, value in pairs if name == "wbytes")
    return found


def pressure(path: Path) -> float | None:
    """The share of the last ten seconds in which some process waited; None where the kernel does not say."""
    try:
        first = path.read_text().splitlines()[0]
    except (OSError, IndexError):  # it is turned off
        return None
    return min(1.0, float(dict(pair.split("=") for pair in first.split()[1:])["avg10"]) / 100)


def _memory_of_v1(cgroups: Iterable[Path]) -> dict[str, float | int | None]:
    for path in cgroups:
        with contextlib.suppress(OSError):
            used = int((path / "memory.usage_in_bytes").read_text())
            return {"memory_bytes": max(0, used - _keyed(path / "memory.stat").get("total_inactive_file", 0))}
    return {}


def _count(cgroups: Iterable[Path], pids: Iterable[int], counters: _Counters) -> float:
    """Note the disk and CPU counters of the processes; returns the CPU time of all, as v1 counts it if it does."""
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            times = process.cpu_times()
            counters.cpu_of[pid] = times.user + times.system
            io = process.io_counters()
            counters.read_bytes[pid], counters.written_bytes[pid] = io.read_bytes, io.write_bytes
    for path in cgroups:
        with contextlib.suppress(OSError):
            return int((path / "cpuacct.usage").read_text()) / 1e9
    return sum(counters.cpu_of.values())


def _resident_bytes(pids: Iterable[int]) -> int:
    """What processes share is counted for each."""
    found = 0
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            found += psutil.Process(pid).memory_info().rss
    return found


def _keyed(path: Path) -> Mapping[str, int]:
    """A file of lines with a name and a number."""
    try:
        return {name: int(value) for name, value in (line.split() for line in path.read_text().splitlines())}
    except OSError:
        return {}
