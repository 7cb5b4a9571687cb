"""Reads what a command printed, from a byte offset, in whole characters."""

import os
from pathlib import Path

from dovetail.backends.contract import LogChunk
from dovetail.backends.local.run_folder import LocalRunFolder, RunPhase
from dovetail.backends.local.supervisor import ORDER, OUTPUT
from dovetail.backends.log_text import whole_characters


def read_output(folder: Path, key: str, offset: int, limit: int) -> LogChunk:
    """Raises KeyError for a key that was never bound here."""
    try:
        run = LocalRunFolder(folder, key)
    except ValueError as error:
        raise KeyError(str(error)) from None
    if not (run.path / ORDER).exists():
        raise KeyError(f"no logs of attempt {key}: it was never started here, or its run folder has been removed")
    offset, limit = max(0, offset), max(1, limit)
    finished = run.look().phase is RunPhase.FINISHED  # asked before reading: nothing is printed after it
    try:
        with (run.path / OUTPUT).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(offset)
            content = file.read(limit)
    except FileNotFoundError:
        size, content = 0, b""
    at_end = offset + len(content) >= size
    if not (finished and at_end):
        content = whole_characters(content)
    next_offset = offset + len(content)
    return LogChunk(content.decode("utf-8", "replace"), next_offset, finished and next_offset >= size)
