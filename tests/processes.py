"""What tests ask about processes that may be anybody's children."""

from pathlib import Path


def process_lives(pid: int) -> bool:
    """Whether it runs; one that has ended and is not reaped yet does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # the second when it is reaped while the file is open
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"
