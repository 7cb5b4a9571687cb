"""What keys do on the live screen: a table of keys, and the state that they change. Pure.

The selection is kept by name, so that it stays on its row when rows come, go or change their order.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dovetail.cli.render.live_rows import VIEWS, LiveColumn, first_sort, identity, in_order, matching, sort_columns

_VIEW_OF_KEY = {"w": "workloads", "p": "pending", "u": "queues", "n": "nodes"}
_ORDER = tuple(VIEWS)
_DISTANT = 1_000_000_000


@dataclass(slots=True)
class TopState:
    """`mode`: list, detail, help, or typing a filter. `page`: how many rows the screen has space for."""

    view: str = _ORDER[0]
    mode: str = "list"
    filter: str = ""
    typed: str = ""
    finished_too: bool = False
    selected: Any = None
    scroll: int = 0  # of details and help
    page: int = 10
    ended: bool = False
    opened: tuple[str, Any] | None = None
    sorted_by: dict[str, int] = field(default_factory=lambda: {view: first_sort(view) for view in VIEWS})
    reversed: set[str] = field(default_factory=set)  # views

    def column(self) -> LiveColumn:
        columns = sort_columns(self.view)
        return columns[self.sorted_by[self.view]]

    def shown(self, rows: Sequence[Any], now: float) -> list[Any]:
        """The rows that the filter leaves, in order. Looks after the selection: it is always one of them."""
        words = self.typed if self.mode == "typing" else self.filter
        column = self.column()
        found = in_order(matching(rows, words), column, now, self.view in self.reversed)
        names = [identity(self.view, row) for row in found]
        if self.selected not in names:
            self.selected = names[0] if names else None
        return found

    def press(self, key: str, shown: Sequence[Any]) -> None:
        """`shown`: the rows on the screen, from `shown`."""
        if self.mode == "typing":
            self._type(key)
        elif self.mode == "list":
            action = _LIST.get(key)
            if key in _VIEW_OF_KEY:
                self._turn_to(_VIEW_OF_KEY[key])
            elif key in _STEPS:
                self._move(_STEPS[key](self.page), shown)
            elif action is not None:
                action(self)
        elif key in _STEPS:
            self.scroll = max(0, self.scroll + _STEPS[key](self.page))
        elif key in _BACK:
            self.mode, self.scroll, self.opened = "list", 0, None

    # --- in the list ---------------------------------------------------------------------------------------------

    def _turn_to(self, view: str) -> None:
        if view != self.view:
            self.view, self.selected = view, None

    def _turn(self, step: int) -> None:
        self._turn_to(_ORDER[(_ORDER.index(self.view) + step) % len(_ORDER)])

    def _move(self, step: int, shown: Sequence[Any]) -> None:
        names = [identity(self.view, row) for row in shown]
        if names:
            place = names.index(self.selected) if self.selected in names else 0
            self.selected = names[min(len(names) - 1, max(0, place + step))]

    def _sort(self, step: int) -> None:
        number = len(sort_columns(self.view))
        self.sorted_by[self.view] = (self.sorted_by[self.view] + step) % number

    def _turn_round(self) -> None:
        self.reversed ^= {self.view}

    def _begin_typing(self) -> None:
        self.mode, self.typed = "typing", self.filter

    def _type(self, key: str) -> None:
        if key == "enter":
            self.filter, self.mode = self.typed.strip(), "list"
        elif key == "escape":
            self.mode = "list"
        elif key == "backspace":
            self.typed = self.typed[:-1]
        elif len(key) == 1:
            self.typed += key

    def _open(self) -> None:
        """A workload's explanation, a node; the workloads of a queue."""
        if self.selected is None:
            return
        if self.view == "queues":
            self.filter = f"queue:{self.selected}"
            self._turn_to("workloads")
            return
        self.opened = ("node" if self.view == "nodes" else "workload", self.selected)
        self.mode, self.scroll = "detail", 0

    def _help(self) -> None:
        self.mode, self.scroll = "help", 0

    def _leave(self) -> None:
        """The filter first, then the screen."""
        if self.filter:
            self.filter = ""
        else:
            self.ended = True

    def _show_finished(self) -> None:
        self.finished_too = not self.finished_too


_STEPS: Mapping[str, Callable[[int], int]] = {
    "up": lambda _: -1,
    "k": lambda _: -1,
    "down": lambda _: 1,
    "j": lambda _: 1,
    "page up": lambda page: -page,
    "page down": lambda page: page,
    " ": lambda page: page,
    "home": lambda _: -_DISTANT,
    "g": lambda _: -_DISTANT,
    "end": lambda _: _DISTANT,
    "G": lambda _: _DISTANT,
}
_BACK = ("escape", "q", "left", "enter", "?", "backspace")
_LIST: Mapping[str, Callable[[TopState], None]] = {
    "tab": lambda state: state._turn(1),
    "back tab": lambda state: state._turn(-1),
    "s": lambda state: state._sort(1),
    ">": lambda state: state._sort(1),
    "<": lambda state: state._sort(-1),
    "r": lambda state: state._turn_round(),
    "/": lambda state: state._begin_typing(),
    "a": lambda state: state._show_finished(),
    "enter": lambda state: state._open(),
    "right": lambda state: state._open(),
    "?": lambda state: state._help(),
    "h": lambda state: state._help(),
    "escape": lambda state: state._leave(),
    "q": lambda state: setattr(state, "ended", True),
}

#: A test compares them with those that the help names.
KNOWN_KEYS = {*_VIEW_OF_KEY, *_LIST, *_STEPS}
