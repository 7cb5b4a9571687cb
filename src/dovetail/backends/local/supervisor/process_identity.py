"""What tells a process from all others, also from one that gets its number later.

In the plain style of this package, for the same reason.
"""

import time

from dovetail.backends.local.supervisor.run_files import read_text


def stat_of(pid: int | str) -> list[str]:
    """The fields after the name in /proc/<pid>/stat; none if the process does not live."""
    fields = (read_text(f"/proc/{pid}/stat") or "").rpartition(")")[2].split()
    return fields if fields and fields[0] not in "ZX" else []


def boot_id() -> str:
    return (read_text("/proc/sys/kernel/random/boot_id") or "").strip()


def started_ticks(pid: int) -> int | None:
    """When a living process started: together with pid and boot id a name that is never reused."""
    fields = stat_of(pid)
    return int(fields[19]) if fields else None


def identity(pid: int) -> dict[str, object]:
    return {"pid": pid, "started_ticks": started_ticks(pid), "boot_id": boot_id(), "at": time.time()}
