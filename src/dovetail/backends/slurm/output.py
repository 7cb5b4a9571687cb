"""Reads what a command printed, from a byte offset, in whole characters."""

import os
from pathlib import Path

from dovetail.backends.contract import LogChunk
from dovetail.backends.log_text import whole_characters


def read_output(path: Path, offset: int, limit: int, *, ended: bool) -> LogChunk:
    """`ended`: asked before reading, so that nothing is printed after it."""
    offset, limit = max(0, offset), max(1, limit)
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(offset)
            content = file.read(max(limit, 4))  # a character is at most so long
    except FileNotFoundError:
        size, content = 0, b""
    if not (ended and offset + len(content) >= size):
        content = whole_characters(content)
    next_offset = offset + len(content)
    return LogChunk(content.decode("utf-8", "replace"), next_offset, ended and next_offset >= size)
