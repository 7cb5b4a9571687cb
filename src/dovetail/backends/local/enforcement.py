"""Enforces limits with cgroup v2, cgroup v1 or rlimits, whichever this machine allows.

`limits` of a workload are enforced. `resources` are what placement counts: a task may use more than it requests while
the machine has it. Where there are cgroups, every attempt gets one, also without limits, so that all processes of a
command can be found and ended.

- cgroup2, cgroup1: memory (swap included), CPU, and where the kernel counts them, processes; a command that exceeds its
  memory limit is killed with that reason.
- rlimit: RLIMIT_AS, the address space of every process of a command, and RLIMIT_NPROC, the processes of its user; CPU
  is not limited.

The node's label `limits` says which is in force. This module probes and plans; the supervisor applies the plan.
"""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from dovetail.model.resources import Limits
from dovetail.model.text.quantity import format_bytes

Pairs = list[tuple[str, str]]

_PERIOD_US = 100_000
_LEAST_QUOTA_US = 1_000  # the kernel's minimum: a hundredth of a core


@dataclass(frozen=True, slots=True)
class Enforcement:
    """`memory`, `cpu` and `pids`: the folders in which attempts get cgroups. They are the same in v2, and None for
    rlimits; `pids` is also None where the kernel does not count processes. `processes`: the most of one attempt.
    `accounts`: where v1 counts CPU time."""

    kind: str
    memory: Path | None = None
    cpu: Path | None = None
    pids: Path | None = None
    processes: int | None = None
    accounts: Path | None = None

    def orders(self, key: str, limits: Limits) -> Pairs:
        """The lines of an order that limit an attempt."""
        found: Pairs = [] if limits.memory is None else [("memory", format_bytes(limits.memory))]
        if self.processes is not None and self.pids is None:
            found.append(("rlimit", f"NPROC={self.processes}"))
        if self.memory is None or self.cpu is None:
            return found + ([] if limits.memory is None else [("rlimit", f"AS={limits.memory}")])
        memory, cpu = self.memory / key, self.cpu / key
        found.append(("cgroup", str(memory)))
        if limits.memory is not None:
            found += [("write", f"{memory}/{name}={value}") for name, value in self._memory_files(limits.memory)]
            found.append(("oom", str(memory / ("memory.events" if self.kind == "cgroup2" else "memory.oom_control"))))
        if limits.cpu is not None:
            if cpu != memory:
                found.append(("cgroup", str(cpu)))
            quota_us = max(_LEAST_QUOTA_US, round(limits.cpu * _PERIOD_US))
            if self.kind == "cgroup2":
                found.append(("write", f"{cpu}/cpu.max={quota_us} {_PERIOD_US}"))
            else:
                found.append(("write", f"{cpu}/cpu.cfs_period_us={_PERIOD_US}"))
                found.append(("write", f"{cpu}/cpu.cfs_quota_us={quota_us}"))
        if self.accounts is not None and (accounting := ("cgroup", str(self.accounts / key))) not in found:
            found.append(accounting)
        if self.pids is not None and self.processes is not None:
            if self.pids != self.memory:
                found.append(("cgroup", str(self.pids / key)))
            found.append(("write", f"{self.pids / key}/pids.max={self.processes}"))
        return found

    def _memory_files(self, most_bytes: int) -> Pairs:
        """Swap is limited too, where the kernel counts it: otherwise a limit would only make a command slow."""
        assert self.memory is not None
        if self.kind == "cgroup2":
            swap = [("memory.swap.max", "0")] if (self.memory / "memory.swap.max").exists() else []
            return [("memory.max", str(most_bytes)), ("memory.oom.group", "1"), *swap]
        files = [("memory.limit_in_bytes", str(most_bytes))]
        if (self.memory / "memory.memsw.limit_in_bytes").exists():
            files.append(("memory.memsw.limit_in_bytes", str(most_bytes)))
        return files


def find_enforcement(
    parent: str, owner: str, mountinfo: str | None = None, processes: int | None = None
) -> Enforcement:
    """The best that this machine has. `owner` separates the attempts of one backend from those of another."""
    text = Path("/proc/self/mountinfo").read_text() if mountinfo is None else mountinfo
    mounts = cgroup_mounts(text)
    if "unified" in mounts:
        folder = mounts["unified"] / parent / owner
        with contextlib.suppress(OSError):
            _make_v2(mounts["unified"], folder)
            _try_to_write(folder, "memory.max", "cpu.max")
            counts = "pids" in (folder / "cgroup.subtree_control").read_text().split()
            return Enforcement("cgroup2", folder, folder, folder if counts else None, processes)
    if "memory" in mounts and "cpu" in mounts:
        memory, cpu = mounts["memory"] / parent / owner, mounts["cpu"] / parent / owner
        with contextlib.suppress(OSError):
            for folder, file in ((memory, "memory.limit_in_bytes"), (cpu, "cpu.cfs_quota_us")):
                folder.mkdir(parents=True, exist_ok=True)
                _try_to_write(folder, file)
            pids, accounts = _make_pids(mounts, parent, owner), _make_accounts(mounts, parent, owner)
            return Enforcement("cgroup1", memory, cpu, pids, processes, accounts)
    return Enforcement("rlimit", processes=processes)


def _make_pids(mounts: dict[str, Path], parent: str, owner: str) -> Path | None:
    """Of cgroup v1: the folder that counts processes, where there is one."""
    with contextlib.suppress(OSError, KeyError):
        folder = mounts["pids"] / parent / owner
        folder.mkdir(parents=True, exist_ok=True)
        _try_to_write(folder, "pids.max")
        return folder
    return None


def _make_accounts(mounts: dict[str, Path], parent: str, owner: str) -> Path | None:
    """Of cgroup v1: the folder that counts CPU time, often the one that limits it."""
    with contextlib.suppress(OSError, KeyError):
        folder = mounts["cpuacct"] / parent / owner
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    return None


def cgroup_mounts(mountinfo: str) -> dict[str, Path]:
    """Where the hierarchies are mounted: `unified` for v2, the name of each controller for v1."""
    found: dict[str, Path] = {}
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        kind, _, rest = after.partition(" ")
        point = Path(before.split()[4]) if len(before.split()) > 4 else None
        if point is None:
            continue
        if kind == "cgroup2":
            found.setdefault("unified", point)
        elif kind == "cgroup":
            for controller in rest.split()[-1].split(","):
                found.setdefault(controller, point)
    return found


def _make_v2(root: Path, folder: Path) -> None:
    """Controllers are delegated one level at a time. A controller that the root lacks is not available below it."""
    if not {"memory", "cpu"} <= set((root / "cgroup.controllers").read_text().split()):
        raise OSError(f"{root} lacks the controllers for memory and CPU")
    folder.mkdir(parents=True, exist_ok=True)
    levels = [folder, *folder.parents]
    for level in reversed(levels[: levels.index(root) + 1]):
        (level / "cgroup.subtree_control").write_text("+memory +cpu")
        with contextlib.suppress(OSError):
            (level / "cgroup.subtree_control").write_text("+pids")


def _try_to_write(folder: Path, *files: str) -> None:
    """Raises OSError if that is not allowed. The permissions of the files say little about cgroups."""
    probe = folder / f"probe-{os.getpid()}"
    probe.mkdir(exist_ok=True)
    try:
        for name in files:
            (probe / name).write_text((probe / name).read_text())
    finally:
        probe.rmdir()
