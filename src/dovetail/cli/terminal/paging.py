"""Lists that come in pages, as many pages as are wanted."""

from collections.abc import Callable, Mapping
from typing import Any

PAGE = 1000  # the most that the server gives at once


def every_page(
    ask: Callable[[int, Any], Mapping[str, Any]], most: int | None, cursor: Any = None
) -> tuple[list[Any], Any]:
    """The items of the pages that `ask(size, cursor)` gives, at most so many, and the cursor of the rest: None if these
    are all."""
    items: list[Any] = []
    while True:
        page = ask(PAGE if most is None else min(PAGE, most - len(items)), cursor)
        items += page["items"]
        cursor = page["cursor"]
        if cursor is None or not page["items"] or (most is not None and len(items) >= most):
            return items, cursor


def every_slice(ask: Callable[[int, int], Mapping[str, Any]], most: int | None) -> tuple[list[Any], int]:
    """The same for `ask(size, offset)`, and how many items there are in all."""
    items: list[Any] = []
    while True:
        page = ask(PAGE if most is None else min(PAGE, most - len(items)), len(items))
        items += page["items"]
        if not page["items"] or len(items) >= page["total"] or (most is not None and len(items) >= most):
            return items, page["total"]
