"""Reads the output of tasks in chunks that end between two characters."""

import os
from pathlib import Path

from dovetail.backends.contract import LogChunk

MAX_CHARACTER_BYTES = 4


def read_output(path: Path, offset: int, limit: int, *, ended: bool) -> LogChunk:
    """A chunk of an output file. `ended`: the task had ended before this call, so nothing is appended any more."""
    offset, limit = max(0, offset), max(1, limit)
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(offset)
            content = file.read(limit)
    except FileNotFoundError:
        size, content = 0, b""
    if not (ended and offset + len(content) >= size):
        content = whole_characters(content)
    next_offset = offset + len(content)
    return LogChunk(content.decode("utf-8", "replace"), next_offset, ended and next_offset >= size)


def whole_characters(content: bytes) -> bytes:
    """Cut off an incomplete UTF-8 character at the end; the next chunk begins with it."""
    for back in range(1, min(MAX_CHARACTER_BYTES, len(content)) + 1):
        byte = content[-back]
        if byte < 0x80:
            break
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4 if byte < 0xF8 else 1  # 1: not a first byte
            return content[:-back] if length > back and len(content) > back else content
    return content
