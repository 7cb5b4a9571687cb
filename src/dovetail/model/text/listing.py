"""Numbers and lists in messages: `3 nodes`, `a, b and 3 more`, `0–7`."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def count(number: int, word: str, plural: str = "") -> str:
    """`1 node`, `3,000 nodes`, `2 queries`."""
    return f"{number:,} {word if number == 1 else plural or word + 's'}"


def first_of(things: Sequence[T], most: int = 5, words: Callable[[T], str] = str) -> str:
    """`a, b and 3 more`. Only the named items are formatted."""
    named = ", ".join(words(thing) for thing in things[:most])
    rest = len(things) - most
    return f"{named} and {rest:,} more" if rest > 0 else named


def ranges(numbers: Iterable[int]) -> str:
    """`0–7`, `0–3, 6`: numbers in order, three or more in a row as a range."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)
