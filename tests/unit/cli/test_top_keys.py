"""Keys of the live screen: how they are read, and what they do to the state."""

from typing import Any

import pytest
from tests.unit.cli.answers import workload

from dovetail.cli.render.live import LIST_KEYS, Live, live_lines
from dovetail.cli.render.live_rows import VIEWS, matching, sort_columns
from dovetail.cli.terminal.keys import keys_in
from dovetail.cli.top.state import KNOWN_KEYS, TopState

NOW = 1_700_000_000.0
ROWS: list[Any] = [
    {**workload("beta", id=2, submitted_at=NOW - 5), "queue": "ml/vision", "state": "failed"},
    {**workload("alpha", id=1, submitted_at=NOW - 9), "queue": "ml", "state": "running"},
    {**workload("gamma", id=3, submitted_at=NOW - 1), "queue": "mlops", "state": "pending"},
]
SUMMARY: Any = {
    "nodes": {"total": 1, "online": 1, "cordoned": 0, "quarantined": 0, "backend_down": 0, "offline": 0},
    "resources": {"gpu": {"unit": "", "capacity": 8.0, "allocated": 4.0, "share": 0.5}},
    "workloads": {"running": 1},
    "waiting": 1,
    "decisions_total": 3,
    "version": "1",
    "uptime_s": 3.0,
}


def names(state: TopState, rows: list[Any] = ROWS) -> list[str]:
    return [row["name"] for row in state.shown(rows, NOW)]


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        ("ab", ["a", "b"]),
        ("\x1b[A\x1b[B", ["up", "down"]),
        ("\x1bOA", ["up"]),
        ("\x1b[5~x", ["page up", "x"]),
        ("\x1b", ["escape"]),
        ("\x1b\x1b[B", ["escape", "down"]),
        ("\x1b[1;5C", []),
        ("\r\x7f\t", ["enter", "backspace", "tab"]),
        ("ä漢", ["ä", "漢"]),
        ("\x00\x01", []),
    ],
)
def test_what_a_terminal_sends_becomes_keys(typed: str, keys: list[str]) -> None:
    assert keys_in(typed) == keys


def test_every_key_of_the_help_does_something() -> None:
    assert {key for keys, _ in LIST_KEYS for key in keys} <= KNOWN_KEYS


def test_the_newest_are_first_and_each_column_sorts() -> None:
    state = TopState()
    assert names(state) == ["gamma", "beta", "alpha"]
    state.press("r", ROWS)
    assert names(state) == ["alpha", "beta", "gamma"]
    for view in VIEWS:
        state = TopState(view=view)
        first = state.column()
        for _ in sort_columns(view):
            state.press(">", [])
        assert state.column() is first, "once round"
        state.press("<", [])
        state.press("s", [])
        assert state.column() is first


def test_the_selection_stays_with_its_row_whatever_comes_and_goes() -> None:
    state = TopState()
    shown = state.shown(ROWS, NOW)
    state.press("down", shown)
    assert state.selected == 2
    newer = {**workload("newer", id=9, submitted_at=NOW), "queue": None}
    state.shown([*ROWS, newer], NOW)
    assert state.selected == 2
    state.shown([row for row in ROWS if row["id"] != 2], NOW)
    assert state.selected == 3, "it has gone: the first one"
    state.press("G", shown)
    assert state.selected == 1


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("alp", ["alpha"]),
        ("ALPHA run", ["alpha"]),
        ("state:failed", ["beta"]),
        ("queue:ml", ["beta", "alpha"]),
        ("nothing-like-it", []),
        ("", ["beta", "alpha", "gamma"]),
    ],
)
def test_a_filter_finds_rows_that_have_all_its_words(words: str, found: list[str]) -> None:
    assert [row["name"] for row in matching(ROWS, words)] == found


def test_a_filter_that_is_left_changes_nothing() -> None:
    state = TopState()
    for key in ("/", "b", "e", "escape"):
        state.press(key, ROWS)
    assert (state.filter, state.mode, state.ended) == ("", "list", False)
    for key in ("/", "b", "q", "backspace", "enter"):  # q is a letter here
        state.press(key, ROWS)
    assert state.filter == "b"
    state.press("escape", ROWS)
    assert (state.filter, state.ended) == ("", False)
    state.press("escape", ROWS)
    assert state.ended


@pytest.mark.parametrize("size", [(80, 24), (20, 5), (200, 60), (1, 1)])
@pytest.mark.parametrize("mode", ["list", "help", "typing", "detail"])
def test_a_frame_is_exactly_as_large_as_the_screen(size: tuple[int, int], mode: str) -> None:
    state = TopState(mode=mode, opened=("workload", 1) if mode == "detail" else None)
    live = Live(summary=SUMMARY, asked=("workloads", False, None), rows=ROWS, total=3, trouble="gone", lost_at=NOW)
    lines = live_lines(live, state, state.shown(ROWS, NOW), size, "http://here", NOW)
    assert len(lines) == size[1]
    assert all(line.cells <= size[0] for line in lines)
