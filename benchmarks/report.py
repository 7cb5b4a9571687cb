"""Showing figures: a JSON list for programs, a table for people.

The file is a list of `{name, value, unit, better, bar, met}`; what was measured also has `spread` and `how`, what was
not run `not_run`, what failed `error`, each in the same entry. It is replaced whole, so that a reader never sees half.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.harness import Better, Figure

WORTH_SAYING = 0.01  # of the processor time


def write_json(path: Path, figures: Iterable[Figure]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".part")
    beside.write_text(json.dumps([figure.to_dict() for figure in figures], indent=2, ensure_ascii=False) + "\n")
    beside.replace(path)


def table(figures: Iterable[Figure]) -> Table:
    found = Table(box=None, pad_edge=False, header_style="bold")
    found.add_column("figure", no_wrap=True)
    for title in ("value", "unit", "bar"):
        found.add_column(title, justify="left" if title == "unit" else "right", no_wrap=True)
    found.add_column("met", justify="center")
    found.add_column("spread", justify="right", no_wrap=True)
    found.add_column("how", style="dim")
    for figure in figures:
        found.add_row(*_cells(figure))
    return found


def print_table(figures: Iterable[Figure], console: Console) -> None:
    shown = table(figures)
    if not console.is_terminal:
        # A file or a pipe has no width of its own: lines as long as they need to be.
        console.width = max(console.width, console.measure(shown, options=console.options.update(width=1000)).maximum)
    console.print(shown)


def _cells(figure: Figure) -> tuple[str, ...]:
    bar = figure.bar
    sign = "≥" if bar.better is Better.HIGHER else "≤"
    limit = "" if bar.bar is None else f"{sign} {number(bar.bar)}"
    if figure.measured is None:
        # The first line says what; the rest is in the file and went to stderr.
        words = escape((figure.error or figure.not_run).partition("\n")[0])
        why = f"[red]failed:[/red] {words}" if figure.error else f"not run: {words}"
        return bar.name, "–", bar.unit, limit, "–", "", why
    measured = figure.measured
    verdict = {True: "[green]✓[/green]", False: "[red]✗[/red]", None: ""}[figure.met]
    spread = f"{number(measured.low)} … {number(measured.high)}"
    how = escape(measured.how)
    if figure.stolen >= WORTH_SAYING:
        how += f"; [yellow]the host took {figure.stolen:.0%} of the processors[/yellow]"
    return bar.name, number(measured.value), bar.unit, limit, verdict, spread, how


def number(value: float) -> str:
    """As many digits as mean something: `24,310`, `812`, `3.42`, `0.31`."""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    shown = f"{value:,.{digits}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown
