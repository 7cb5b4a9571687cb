"""A cgroup of their own for the tests of one worker, removed when they are done."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def cgroup_parent() -> Iterator[str]:
    name = f"dovetail-test-{os.getpid()}"
    yield name
    for above, children, _ in os.walk("/sys/fs/cgroup"):  # bears that other workers remove theirs meanwhile
        if name not in children:
            continue
        parent = Path(above) / name
        for folder in (*parent.glob("*/*"), *parent.glob("*"), parent):
            with contextlib.suppress(OSError):
                folder.rmdir()
