"""Huge pages of this machine for a test: reserved before it, given back after it. Needs root."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

FOLDER = Path("/sys/kernel/mm/hugepages/hugepages-2048kB")
RESERVED = FOLDER / "nr_hugepages"
LOCK = Path(tempfile.gettempdir()) / "dovetail-huge-pages.lock"


def free_pages() -> int:
    return int((FOLDER / "free_hugepages").read_text())


@contextmanager
def huge_pages(count: int) -> Iterator[None]:
    """So many more pages of 2 MiB. One test run of the machine has them at a time: it counts those that are free."""
    if not RESERVED.exists() or os.geteuid() != 0:
        pytest.skip("huge pages of 2 MiB cannot be reserved: the kernel has none, or this is not root")
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = int(RESERVED.read_text())
        try:
            RESERVED.write_text(str(before + count))
            if int(RESERVED.read_text()) != before + count:
                pytest.skip(f"{count} huge pages of 2 MiB cannot be reserved: memory is short, or in pieces")
            yield
        finally:
            RESERVED.write_text(str(before))
