"""Backends as a list, and one with everything that is known of it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from dovetail.cli.render.parts.spans import age, moment
from dovetail.cli.render.parts.table import Header, table
from dovetail.responses.backends import BackendDetail, BackendRow
from dovetail.responses.system import HistoryRow

_BACKENDS = (
    Header("BACKEND", shrinks=True),
    Header("KIND"),
    Header("STATE"),
    Header("NODES", right=True),
    Header("TASKS", right=True),
    Header("P50", right=True),
    Header("P99", right=True),
    Header("ERRORS", right=True),
    Header("ANSWERED", right=True),
    Header("FROM", wide=True),
    Header("WAITING", right=True, wide=True),
    Header("CAN", wide=True),
)
_HISTORY = (Header("WHEN"), Header("WHAT", folds=True))
_STATES = {"closed": "in use", "open": "left alone", "half-open": "being tried"}
_FACT = 14


def backend_list(rows: Sequence[BackendRow], now: float, wide: bool = False) -> RenderableType:
    lines = [
        [
            row["name"],
            row["kind"],
            _state(row),
            row["nodes"],
            row["tasks"],
            _took(row["latency_p50_s"]),
            _took(row["latency_p99_s"]),
            row["errors"],
            _ago(row["last_success_at"], now),
            row["source"],
            row["waiting"],
            ", ".join(row["capabilities"]),
        ]
        for row in rows
    ]
    problems = [Text(f"{row['name']}: {row['problem']}") for row in rows if row["problem"]]
    return Group(table(_BACKENDS, lines, wide), *([Text()] if problems else []), *problems)


def one_backend(row: BackendDetail, now: float) -> RenderableType:
    return Group(*(Text.assemble((f"{name:<{_FACT}}", "bold"), value) for name, value in _facts(row, now)))


def _facts(row: BackendDetail, now: float) -> Iterator[tuple[str, str]]:
    since = "" if row["added_at"] is None else f" {moment(row['added_at'], now)}"
    yield "backend", f"{row['name']}, of kind {row['kind']} ({row['source']}{since})"
    yield "state", f"{row['state']}: {_state(row)}" if row["state"] in _STATES else row["state"]
    if row["problem"]:
        yield "problem", row["problem"]
    yield "has", f"{row['nodes']} nodes, {row['tasks']} tasks; {row['waiting']} commands not yet answered"
    calls = f"{row['calls']} calls, {row['errors']} failed"
    yield "answers", f"{calls}; half within {_took(row['latency_p50_s'])}, 99 % within {_took(row['latency_p99_s'])}"
    yield "last answer", _ago(row["last_success_at"], now)
    if row["last_error_at"] is not None:
        yield "last error", f"{_ago(row['last_error_at'], now)}: {row['last_error']}"
    yield "can", ", ".join(row["capabilities"]) or "nothing beyond the contract"
    late = f"changes are known within {row['stale_for_s']:g} s" if row["stale_for_s"] else "changes are known at once"
    yield "consistency", late + ("" if row["sees_own_writes"] else "; its own writes are seen later")
    for name, value in _flat(row["settings"]):
        yield "setting", f"{name}: {value}"


def backend_history(name: str, rows: Sequence[HistoryRow], now: float, wide: bool = False) -> RenderableType:
    if not rows:
        return Text(f"nothing is remembered of a backend {name}: it stands in the settings, or never was")
    return table(_HISTORY, [[moment(row["at"], now), row["message"]] for row in rows], wide)


def _state(row: BackendRow) -> str:
    return _STATES.get(row["state"], row["state"])


def _took(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def _ago(at: float | None, now: float) -> str:
    return "never" if at is None else f"{age(at, now)} ago"


def _flat(settings: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value
