"""The capacity, labels and use of this machine, measured with psutil.

A part is reserved for the system and the control plane: 5 % of the cores (at least 0.1), 10 % of the memory (at least
256 MiB, at most 4 GiB) and 5 % of the disk. Measured use is that of the whole machine.
"""

import os
import platform
from pathlib import Path

import psutil

from dovetail.backends.local.settings import CapacityOverride
from dovetail.model.resources import CPU, DEFAULT_NODE_SLOTS, DISK, MEMORY, Amounts, Capacity
from dovetail.model.workloads.selection import Labels

_MIB, _GIB = 2**20, 2**30


def cores() -> int:
    """The cores that this process may run on: fewer than the machine has if it is pinned."""
    return len(os.sched_getaffinity(0))


def memory_bytes() -> int:
    """Physical memory, or the limit of the container that this process runs in."""
    found = int(psutil.virtual_memory().total)
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            limit = Path(path).read_text().strip()
        except OSError:
            continue
        if limit.isdigit():
            found = min(found, int(limit))
    return found


def measure_capacity(folder: Path, override: CapacityOverride) -> Capacity:
    cpu, memory, disk = float(cores()), memory_bytes(), psutil.disk_usage(str(folder))
    usable_disk = disk.used + disk.free  # part of that may be reserved for root
    return Capacity(
        cpu=round(cpu - max(0.1, 0.05 * cpu), 3) if override.cpu is None else override.cpu,
        memory=memory - min(max(memory // 10, 256 * _MIB), 4 * _GIB) if override.memory is None else override.memory,
        disk=usable_disk - usable_disk // 20 if override.disk is None else override.disk,
        slots=DEFAULT_NODE_SLOTS if override.slots is None else override.slots,
    )


def measure_labels() -> Labels:
    arch = platform.machine().lower()
    return {
        "arch": {"x86_64": "amd64", "aarch64": "arm64"}.get(arch, arch),
        "os": platform.system().lower(),
        "hostname": platform.node()[:253],
    }


def measure_use(folder: Path) -> Amounts:
    """Current use; CPU since the last call."""
    memory = psutil.virtual_memory()
    return {
        CPU: round(psutil.cpu_percent(interval=None) * 10 * (psutil.cpu_count() or 1)),
        MEMORY: memory.total - memory.available,
        DISK: psutil.disk_usage(str(folder)).used,
    }
