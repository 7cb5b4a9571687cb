"""Indices of an array of tasks, written as for Slurm: `0-9`, `1-20:5`, `3,7,12-15`; `%2` after them: two at once.

The index of a task is in its environment (`DOVETAIL_ARRAY_INDEX`). Replicas are counted from 0, whatever the indices.
"""

from functools import lru_cache
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, Field

from dovetail.model.text.strict import shown, text_format
from dovetail.model.workloads.selection import AS_TEXT

MAX_INDEX = 10**9
MAX_INDICES = 1_000_000
_ACCEPTED = "write indices such as 0-9, 1-20:5 or 3,7,12-15; %2 at the end runs at most two at once"


class ArrayIndices(NamedTuple):
    """`concurrency`: how many may run at once, None without a limit."""

    ranges: tuple[range, ...]
    concurrency: int | None

    @property
    def size(self) -> int:
        return sum(map(len, self.ranges))

    def index_of(self, replica: int) -> int:
        for indices in self.ranges:
            if replica < len(indices):
                return indices[replica]
            replica -= len(indices)
        raise IndexError(replica)


@lru_cache(maxsize=1000)
def parse_array(text: str) -> ArrayIndices:
    """Raises ValueError with a message that says what is accepted."""
    listed, percent, limit = text.partition("%")
    concurrency = _number(limit, text) if percent else None
    if concurrency == 0:
        raise ValueError(f"{shown(text)} lets nothing run: %0; {_ACCEPTED}")
    found = ArrayIndices(tuple(_range(part, text) for part in listed.split(",")), concurrency)
    if found.size > MAX_INDICES:
        raise ValueError(f"{shown(text)} has {found.size} indices; the most is {MAX_INDICES}")
    if len(found.ranges) > 1 and len({index for indices in found.ranges for index in indices}) < found.size:
        raise ValueError(f"{shown(text)} names an index twice; each task has its own")
    return found


def _range(part: str, text: str) -> range:
    bounds, colon, step = part.partition(":")
    first, dash, last = bounds.partition("-")
    low = _number(first, text)
    high = _number(last, text) if dash else low
    by = _number(step, text) if colon else 1
    if high < low or not by or (colon and not dash):
        raise ValueError(f"{part.strip()!r} in {shown(text)} is no range; {_ACCEPTED}")
    return range(low, high + 1, by)


def _number(digits: str, text: str) -> int:
    digits = digits.strip()
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 10 or int(digits) > MAX_INDEX:
        raise ValueError(f"{shown(text)} is not a list of indices; {_ACCEPTED}")
    return int(digits)


def _checked(text: str) -> str:
    parse_array(text)
    return text


ArrayText = Annotated[
    str,
    AS_TEXT,
    Field(max_length=10_000),
    AfterValidator(_checked),
    text_format("array-indices", least=1),
]
