"""How much memory a process holds, or ever held: VmRSS and VmHWM of /proc.

Not `ru_maxrss`, which a child inherits from the process that started it and which therefore says too much here.
"""

from pathlib import Path

from benchmarks.harness import NotRun

MB = 1_000_000


def peak_resident_bytes(pid: int | str = "self") -> int:
    """Raises NotRun on a system without /proc."""
    return _read("VmHWM", pid)


def resident_bytes(pid: int | str = "self") -> int:
    """Raises NotRun on a system without /proc."""
    return _read("VmRSS", pid)


def _read(field: str, pid: int | str) -> int:
    status = Path(f"/proc/{pid}/status")
    try:
        lines = status.read_text().splitlines()
    except FileNotFoundError:
        raise NotRun(f"{status} is missing; memory is read there, on Linux only") from None
    for line in lines:
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise NotRun(f"{status} has no line {field}")
