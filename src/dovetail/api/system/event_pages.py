"""Pages of the history, for the routes that show it."""

from functools import partial
from typing import cast

from dovetail.control.plane import ControlPlane
from dovetail.responses.system import HistoryPage, HistoryRow
from dovetail.store.contract import EventFilter


async def history_page(
    plane: ControlPlane, where: EventFilter, limit: int, after: int, before: int | None, *, newest_first: bool
) -> HistoryPage:
    find = partial(plane.store.events, where, limit, after, before, newest_first=newest_first)
    page = await plane.read(find)
    cursor = None if page.cursor is None else int(page.cursor)
    return {"items": cast("list[HistoryRow]", page.items), "cursor": cursor}
