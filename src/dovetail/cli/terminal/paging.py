"""Lists that come in pages, as many pages as are wanted; and a page of one, shown with what is left."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dovetail.cli.terminal.output import Format, say, show

if TYPE_CHECKING:
    from dovetail.cli.render.parts.text import Drawing

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


def show_page(
    page: Mapping[str, Any],
    output: Format,
    view: "Callable[[list[Any], bool], Drawing]",
    word: str,
    *,
    search: str = "",
    plural: str = "",
) -> None:
    """The rows of a page (`dovetail.responses.ItemPage`) as data, or as `view(rows, wide)` draws them and how many more
    there are."""
    items = page["items"]
    total = page.get("total", len(items))  # an old server gives all, and no total
    if search and not total and not output.is_data:
        say(f"no {word} contains {search!r}")
        return

    def drawn(wide: bool) -> "Drawing":
        from dovetail.cli.render.parts.table import and_more
        from dovetail.cli.render.parts.text import Stack

        return Stack(view(items, wide), *and_more(total - len(items), word, f"--limit {total}", plural))

    show(items, output, drawn)
