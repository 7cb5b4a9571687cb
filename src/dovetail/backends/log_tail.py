"""Finds the last lines of an output in a backend that cannot: everything is read, and as much is kept as holds them."""

from collections import deque
from collections.abc import Iterable

from dovetail.backends.contract import Backend

READ_BYTES = 1024 * 1024


async def tail_by_reading(backend: Backend, key: str, lines: int) -> int:
    """The byte offset at which the last lines begin. Raises as `Backend.logs` does."""
    kept: deque[tuple[int, str]] = deque()  # chunks with their offsets
    offset = newlines = 0
    while True:
        chunk = await backend.logs(key, offset, READ_BYTES)
        if chunk.text:
            kept.append((offset, chunk.text))
            newlines += chunk.text.count("\n")
        while len(kept) > 1 and newlines - kept[0][1].count("\n") > lines:
            newlines -= kept.popleft()[1].count("\n")
        if chunk.ended or chunk.next_offset == offset:
            return _line_start(kept, lines, chunk.next_offset)
        offset = chunk.next_offset


def _line_start(kept: Iterable[tuple[int, str]], lines: int, end: int) -> int:
    wanted, last = lines, True
    for offset, text in reversed(list(kept)):
        body = text.removesuffix("\n") if last else text  # a newline at the very end begins no further line
        last = False
        if body.count("\n") >= wanted:
            place = len(body)
            for _ in range(wanted):
                place = body.rfind("\n", 0, place)
            return offset + len(text[: place + 1].encode()) if wanted else end
        wanted -= body.count("\n")
    return 0
