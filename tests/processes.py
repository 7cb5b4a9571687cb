"""What tests ask about processes that may be anybody's children."""

from contextlib import suppress
from pathlib import Path


def process_with(argument: str) -> bool:
    """Does any process that lives have this among its arguments? Numbers that a job prints are those of its
    namespace."""
    wanted = argument.encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if wanted in (entry / "cmdline").read_bytes().split(b"\0") and process_lives(int(entry.name)):
                    return True
    return False


def process_lives(pid: int) -> bool:
    """Whether it runs; one that has ended and is not reaped yet does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # the second when it is reaped while the file is open
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"
