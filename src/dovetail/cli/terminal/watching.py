"""Lists that go on: all rows once, then each row when it has changed, as `-w` prints them.

The list is asked for again when something happened on the server, at most once in `PAUSE_S`. While the server is away,
that is said once, and the list goes on when it is back.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from dovetail.cli.terminal.trouble import say_trouble
from dovetail.client.following.reconnecting import RECONNECT_S

if TYPE_CHECKING:
    from dovetail.client import Client

PAUSE_S = 0.5

Row = TypeVar("Row", bound=Mapping[str, Any])


def watched(
    client: "Client",
    rows: Callable[[], list[Row]],
    one: Callable[[Any], Row],
    shown: Callable[[Row], object],
) -> Iterator[list[Row]]:
    """All rows, then those that changed. `one` finds a row that is no longer in the list, by id. `shown` is what counts
    as a change: not the age of a row."""
    from dovetail.client.following.reconnecting import Reconnecting

    again = Reconnecting(RECONNECT_S, say_trouble)
    seen = -1
    known: dict[Any, object] = {}
    while True:
        newest = again.ask(partial(_newest, client))
        if newest != seen:
            found = again.ask(rows)
            listed = {row["id"] for row in found}
            left = [again.ask(partial(one, id_)) for id_ in known if id_ not in listed]
            changed = [row for row in [*left, *found] if known.get(row["id"]) != shown(row)]
            if changed or seen < 0:
                yield changed
            known = {row["id"]: shown(row) for row in found}
            seen = newest
        time.sleep(PAUSE_S)


def _newest(client: "Client") -> int:
    page = client.event_page(newest=True, limit=1)["items"]
    return page[0]["seq"] if page else 0
