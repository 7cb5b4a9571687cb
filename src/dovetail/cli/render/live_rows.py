"""The rows of the live screen: what each view shows of them, how they are sorted, and which a filter leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dovetail.cli.render.nodes import use_gauge
from dovetail.cli.render.parts.names import name_of
from dovetail.cli.render.parts.state import state
from dovetail.cli.render.parts.table import TableColumn
from dovetail.cli.render.parts.text import Text
from dovetail.cli.render.parts.times import age, span, starts_in
from dovetail.cli.render.queues import queue_held, use_bar
from dovetail.cli.render.workloads import note, ran, ran_s

Row = Mapping[str, Any]
Cell = Callable[[Row, float], object]
_STATES = ("running", "starting", "bound", "placed", "stopping", "pending", "failed", "succeeded", "cancelled")
_PRIORITIES = ("critical", "high", "medium", "low", "batch")
_LAST = float("inf")
_GAUGE = 5  # three of them, and a name, fit into 80 columns


class LiveColumn:
    """`cell(row, now)` is what it shows, `key(row, now)` what it sorts by: the row with the smallest first. Without a
    key nobody sorts by it. `resource`: shown where a row has some."""

    def __init__(
        self, title: str, cell: Cell, key: Callable[[Row, float], Any] | None = None, resource: str = "", **how: bool
    ) -> None:
        self.title = title
        self.cell = cell
        self.key = key
        self.resource = resource
        self.how = how


def _name(row: Row, _: float) -> str:
    return f"{row['namespace']}/{row['name']}"


_WORKLOADS = (
    LiveColumn("NAME", _name, _name),
    LiveColumn("STATE", lambda row, _: state(row["state"]), lambda row, _: _place(_STATES, row["state"])),
    LiveColumn(
        "TASKS",
        lambda row, _: f"{row['active'] + row['succeeded']}/{row['replicas']}",
        lambda row, _: -row["replicas"],
        right=True,
    ),
    LiveColumn("AGE", lambda row, now: age(row["submitted_at"], now), lambda row, _: -row["submitted_at"], right=True),
    LiveColumn("RAN", lambda row, now: ran(row, now), lambda row, now: -(ran_s(row, now) or 0.0), right=True),  # type: ignore[arg-type]
    LiveColumn("PRIORITY", lambda row, _: row["priority"], lambda row, _: _place(_PRIORITIES, row["priority"])),
    LiveColumn("USER", lambda row, _: row["user"], lambda row, _: row["user"] or "~", wide=True),
    LiveColumn("QUEUE", lambda row, _: row["queue"], lambda row, _: row["queue"] or "~", wide=True),
    LiveColumn("NOTE", lambda row, _: note(row), folds=True),  # type: ignore[arg-type]
)
_PENDING = (
    LiveColumn("#", lambda row, _: row["position"], lambda row, _: _or_last(row["position"]), right=True),
    LiveColumn("NAME", _name, _name),
    LiveColumn(
        "TASKS", lambda row, _: f"{row['pending']}/{row['replicas']}", lambda row, _: -row["pending"], right=True
    ),
    LiveColumn("WAITED", lambda row, _: span(row["waited_s"]), lambda row, _: -row["waited_s"], right=True),
    LiveColumn("STARTS", lambda row, now: starts_in(row, now), lambda row, _: _or_last(row["starts_at"])),  # type: ignore[arg-type]
    LiveColumn("PRIORITY", lambda row, _: row["priority"], lambda row, _: _place(_PRIORITIES, row["priority"])),
    LiveColumn("USER", lambda row, _: row["user"], lambda row, _: row["user"] or "~", wide=True),
    LiveColumn("WHY", lambda row, _: row["message"] or row["waits_for"] or row["reason"], folds=True),
)
_QUEUES = (
    LiveColumn("QUEUE", lambda row, _: Text("  " * (row["depth"] - 1) + row["name"]), lambda row, _: row["path"]),
    LiveColumn("WEIGHT", lambda row, _: f"{row['weight']:g}", lambda row, _: -row["weight"], right=True),
    LiveColumn("SHARE", lambda row, _: f"{row['share']:.0%}", lambda row, _: -row["share"], right=True),
    LiveColumn("USE", lambda row, _: use_bar(row["resources"].get(row["dominant"] or ""))),
    LiveColumn("BORROWED", lambda row, _: _borrowed(row) or "", lambda row, _: -_borrowed_share(row), right=True),
    LiveColumn("WAITING", lambda row, _: row["waiting"], lambda row, _: -row["waiting"], right=True),
    LiveColumn("HELD", lambda row, _: queue_held(row), folds=True),  # type: ignore[arg-type]
)
_NODES = (
    LiveColumn("NAME", lambda row, _: row["name"], lambda row, _: row["name"]),
    LiveColumn(
        "STATUS", lambda row, _: state(row["status"]), lambda row, _: (row["status"] == "online", row["status"])
    ),
    LiveColumn("LOAD", lambda row, _: f"{row['load']:.0%}", lambda row, _: -row["load"], right=True),
    LiveColumn("TASKS", lambda row, _: row["tasks"], lambda row, _: -row["tasks"], right=True),
    *(
        LiveColumn(
            name.upper(),
            lambda row, _, name=name: use_gauge(row, name, width=_GAUGE),  # type: ignore[misc]
            lambda row, _, name=name: -_taken(row, name),  # type: ignore[misc]
            resource=name,
        )
        for name in ("gpu", "cpu", "memory")
    ),
    LiveColumn("BACKEND", lambda row, _: row["backend"], lambda row, _: row["backend"], wide=True),
    LiveColumn("NOTE", lambda row, _: row["reason"], folds=True),
)
#: The views, in the order of their tabs.
VIEWS: dict[str, tuple[LiveColumn, ...]] = {
    "workloads": _WORKLOADS,
    "pending": _PENDING,
    "queues": _QUEUES,
    "nodes": _NODES,
}


#: How each is sorted at first: the newest, the next, as a tree, the busiest.
_FIRST = {"workloads": "AGE", "pending": "#", "queues": "QUEUE", "nodes": "LOAD"}


def first_sort(view: str) -> int:
    """The place of the column that sorts at first."""
    return next(place for place, column in enumerate(sort_columns(view)) if column.title == _FIRST[view])


def sort_columns(view: str) -> list[LiveColumn]:
    """Those that a view can be sorted by."""
    return [column for column in VIEWS[view] if column.key is not None]


def identity(view: str, row: Row) -> Any:
    """What a row is called when it is opened."""
    return row["name"] if view == "nodes" else row["path"] if view == "queues" else row["id"]


def in_words(view: str, row: Row) -> str:
    """What a row has to say that may not fit into its line: why it waits, what it holds."""
    if view == "queues":
        return queue_held(row)  # type: ignore[arg-type]
    found = row["reason"] if view == "nodes" else row["message"] or row.get("waits_for") or row["reason"]
    return " ".join(str(found).split())


def in_order(rows: Iterable[Row], column: LiveColumn, now: float, backwards: bool) -> list[Row]:
    key = column.key
    return sorted(rows, key=lambda row: key(row, now), reverse=backwards) if key is not None else list(rows)


def matching(rows: Sequence[Row], words: str) -> list[Row]:
    """Rows in which every word occurs, in any value that is text; `queue:ml` looks at that value alone, and finds
    what lies below, too."""
    tests = [_test(word) for word in words.casefold().split()]
    return [row for row in rows if all(test(row) for test in tests)] if tests else list(rows)


def _test(word: str) -> Callable[[Row], bool]:
    name, colon, value = word.partition(":")
    if colon and name in _FIELDS:
        return lambda row: _FIELDS[name](str(row.get(name) or "").casefold(), value)
    return lambda row: any(isinstance(found, str) and word in found.casefold() for found in row.values())


def _below(path: str, value: str) -> bool:
    return path == value or path.startswith(f"{value}/")


def _contains(text: str, value: str) -> bool:
    return value in text


_FIELDS: dict[str, Callable[[str, str], bool]] = {
    "queue": _below,
    **dict.fromkeys(("name", "namespace", "state", "user", "status", "priority", "backend"), _contains),
}


def live_columns(
    view: str, rows: Sequence[Row], now: float, sorted_by: LiveColumn, backwards: bool
) -> list[TableColumn[Row]]:
    """As a table takes them; the one that sorts is marked."""
    found: list[TableColumn[Row]] = []
    plain = name_of(rows) if view in ("workloads", "pending") else None
    for column in VIEWS[view]:
        if column.resource and not any(_capacity(row, column.resource) for row in rows):
            continue
        title = f"{column.title}{'▲' if backwards else '▼'}" if column is sorted_by else column.title
        found.append(TableColumn(title, _drawn(column, now, plain), **column.how))
    return found


def _drawn(column: LiveColumn, now: float, plain: Callable[[Any], str] | None) -> Callable[[Row], object]:
    if column.cell is _name and plain is not None:
        return plain
    return lambda row: column.cell(row, now)


def _place(order: Sequence[str], word: str) -> int:
    return order.index(word) if word in order else len(order)


def _or_last(value: float | None) -> float:
    return _LAST if value is None else value


def _capacity(row: Row, name: str) -> float:
    return float(row["resources"].get(name, {}).get("capacity", 0))


def _taken(row: Row, name: str) -> float:
    use, capacity = row["resources"].get(name), _capacity(row, name)
    return float((use["allocated"] + use["reserved"]) / capacity) if capacity else 0.0


def _borrowed(row: Row) -> str:
    use = row["resources"].get(row["dominant"] or "")
    return f"{use['borrowed']:g}" if use is not None and use["borrowed"] else ""


def _borrowed_share(row: Row) -> float:
    use = row["resources"].get(row["dominant"] or "")
    return float(use["borrowed"] / use["cluster"]) if use is not None and use["cluster"] else 0.0
