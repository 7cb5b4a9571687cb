"""The loop of the live screen: draw, wait for a key, for news or for the next second, draw again."""

import time
from typing import TYPE_CHECKING

from dovetail.cli.render.live import live_lines
from dovetail.cli.terminal.keys import single_keys
from dovetail.cli.terminal.screen import terminal_size, whole_screen
from dovetail.cli.top.feed import ClusterFeed
from dovetail.cli.top.state import TopState

if TYPE_CHECKING:
    from collections.abc import Callable

    from dovetail.client import Client

_TICK_S = 1.0  # ages and durations go on while nothing happens


def live_top(connect: "Callable[[], Client]", url: str, interval_s: float) -> None:
    """Returns when the user leaves. Raises what the server says to the first question."""
    state = TopState()
    feed = ClusterFeed(connect, lambda: None, interval_s)
    feed.start()
    with single_keys() as keys, whole_screen() as paint:
        feed.changed = keys.wake
        try:
            while not state.ended:
                now = time.time()
                live = feed.live
                rows = state.shown(live.rows, now) if live.asked[0] == state.view else []
                paint(live_lines(live, state, rows, terminal_size(), url, now))
                for key in keys.pressed(_TICK_S):
                    state.press(key, rows)
                    feed.show(state.view, state.finished_too, state.opened)
        finally:
            feed.changed = lambda: None
            feed.stop()
