"""Folders and programs that other users can reach: a server that is root runs jobs as users of their own."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path


@contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that everybody may enter and read, which the folders of pytest are not."""
    folder = Path(tempfile.mkdtemp(prefix="dovetail-test-", dir="/tmp"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@cache
def python_is_open() -> bool:
    """Whether other users can run the Python of the tests. One in a home is closed to them."""
    return is_open(Path(sys.executable).resolve())


def is_open(path: Path) -> bool:
    """Whether other users can reach it."""
    return all(folder.stat().st_mode & 0o001 for folder in path.parents) and bool(path.stat().st_mode & 0o005)
