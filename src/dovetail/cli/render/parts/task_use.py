"""What running tasks use, as columns: only those that something was measured for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from dovetail.cli.render.parts.table import TableColumn
from dovetail.model.text.amounts import show_bytes

if TYPE_CHECKING:
    from dovetail.responses.workloads import MeasuredTaskUse, TaskRow

Row = TypeVar("Row", bound="TaskRow")


def use_columns(rows: Sequence[Row]) -> list[TableColumn[Row]]:
    """CPU and memory; GPU use where a GPU is used; in a wide table also disk, network and pressure."""
    used = [row["use"] for row in rows if "use" in row]
    columns: list[tuple[str, Callable[[MeasuredTaskUse], object], bool]] = [
        ("CPU", lambda use: _number(use["cpu_cores"]), False),
        ("MEM", lambda use: _size(use["memory_bytes"]), False),
        ("GPU USE", lambda use: _number(use["gpus"]), False),
        ("GPU MEM", lambda use: _size(use["gpu_memory_bytes"]), False),
        ("DISK R/W", lambda use: _both(use["disk_read_bytes"], use["disk_written_bytes"]), True),
        ("NET IN/OUT", lambda use: _both(use["network_received_bytes"], use["network_sent_bytes"]), True),
        ("PRESSURE", _pressure, True),
    ]
    return [
        TableColumn(title, partial(_of_row, text), right=True, wide=wide)
        for title, text, wide in columns
        if any(text(use) for use in used)
    ]


def _of_row(text: Callable[[MeasuredTaskUse], object], row: TaskRow) -> object:
    return text(row["use"]) if "use" in row else ""


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _size(value: int | None) -> str:
    return "" if value is None else show_bytes(value)


def _both(first: int | None, second: int | None) -> str:
    return "" if first is None or second is None else f"{show_bytes(first)}/{show_bytes(second)}"


def _pressure(use: MeasuredTaskUse) -> str:
    """`cpu 12% io 3%`: what some process of it waited for."""
    found = {"cpu": use["cpu_pressure"], "memory": use["memory_pressure"], "io": use["io_pressure"]}
    return " ".join(f"{name} {share:.0%}" for name, share in found.items() if share)
