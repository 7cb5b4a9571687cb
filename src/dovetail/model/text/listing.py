"""Lists and numbers in messages: the first few items, and how many there are."""

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def first_of(things: Sequence[T], most: int = 5, words: Callable[[T], str] = str) -> str:
    """`a, b and 3 more`. Only the named items are formatted."""
    named = ", ".join(words(thing) for thing in things[:most])
    rest = len(things) - most
    return f"{named} and {rest:,} more" if rest > 0 else named


def counted(number: int, thing: str) -> str:
    """`1 task`, `3,000 tasks`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
