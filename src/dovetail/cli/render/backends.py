"""Backends as a list, and one with everything that is known of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dovetail.cli.render.parts.table import TableColumn, table
from dovetail.cli.render.parts.text import Drawing, Stack, Text
from dovetail.cli.render.parts.times import age, moment

if TYPE_CHECKING:
    from dovetail.responses.backends import BackendDetail, BackendRow
    from dovetail.responses.system import HistoryRow

_STATES = {"closed": "in use", "open": "left alone", "half-open": "being tried"}
_FACT = 14


def backend_list(rows: Sequence[BackendRow], now: float, wide: bool = False) -> Drawing:
    columns: list[TableColumn[BackendRow]] = [
        TableColumn("BACKEND", lambda row: row["name"], shrinks=True),
        TableColumn("KIND", lambda row: row["kind"]),
        TableColumn("STATE", _state),
        TableColumn("NODES", lambda row: row["nodes"], right=True),
        TableColumn("TASKS", lambda row: row["tasks"], right=True),
        TableColumn("P50", lambda row: _took(row["latency_p50_s"]), right=True),
        TableColumn("P99", lambda row: _took(row["latency_p99_s"]), right=True),
        TableColumn("ERRORS", lambda row: row["errors"], right=True),
        TableColumn("ANSWERED", lambda row: _ago(row["last_success_at"], now), right=True),
        TableColumn("FROM", lambda row: row["source"], wide=True),
        TableColumn("WAITING", lambda row: row["waiting"], right=True, wide=True),
        TableColumn("CAN", lambda row: ", ".join(row["capabilities"]), wide=True),
    ]
    problems = [Text(f"{row['name']}: {row['problem']}") for row in rows if row["problem"]]
    return Stack(table(columns, rows, wide), *([Text()] if problems else []), *problems)


def one_backend(row: BackendDetail, now: float) -> Drawing:
    return Stack(*(Text.assemble((f"{name:<{_FACT}}", "bold"), value) for name, value in _facts(row, now)))


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
        yield "setting", f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"


def backend_history(name: str, rows: Sequence[HistoryRow], now: float, wide: bool = False) -> Drawing:
    if not rows:
        return Text(f"nothing is remembered of a backend {name}: it stands in the settings, or never was")
    columns: list[TableColumn[HistoryRow]] = [
        TableColumn("WHEN", lambda row: moment(row["at"], now)),
        TableColumn("WHAT", lambda row: row["message"], folds=True),
    ]
    return table(columns, rows, wide)


def _state(row: BackendRow) -> str:
    return _STATES.get(row["state"], row["state"])


def _took(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    if seconds < 0.0001:
        return "<0.1 ms"
    if seconds < 0.0995:
        return f"{seconds * 1000:.2g} ms"
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.3g} s"


def _ago(at: float | None, now: float) -> str:
    return "never" if at is None else f"{age(at, now)} ago"


def _flat(settings: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value
