"""Reads what a command printed, from a byte offset, in whole characters."""

import os
from pathlib import Path

from dovetail.backends.contract import LogChunk


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
        content = content[: _whole(content)]
    next_offset = offset + len(content)
    return LogChunk(content.decode("utf-8", "replace"), next_offset, ended and next_offset >= size)


def _whole(content: bytes) -> int:
    """Without the beginning of a UTF-8 character at the end, whose rest comes with the next chunk."""
    for back in range(1, min(4, len(content)) + 1):
        byte = content[-back]
        if byte < 0x80:
            break
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(content) - back if length > back and len(content) > back else len(content)
    return len(content)
