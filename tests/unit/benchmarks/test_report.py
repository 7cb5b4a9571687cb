"""What people and programs are shown of a run."""

import io
import json
from pathlib import Path

import pytest
from benchmarks.harness import Bar, Better, Figure, Measured, at_least, at_most
from benchmarks.report import number, print_table, write_json
from rich.console import Console

FIGURES = [
    Figure(at_least("engine.fast", 2500, "decisions/s"), Measured(3100.4, 2800, 3100.4, "best of 5")),
    Figure(at_most("engine.slow.p99", 1, "ms"), Measured(1.31, 1.2, 1.4, "median of 3"), stolen=0.124),
    Figure(at_most("trace.replay", 10, "s"), not_run="needs recorded data; pass --data DIR"),
    Figure(at_most("control.restart", 5, "s"), error="RuntimeError: [no] luck\nand a long log"),
    Figure(Bar("engine.extra", "µs", Better.LOWER, None), Measured(7, 7, 7, "once")),
]


def test_the_file_is_a_list_with_one_entry_a_figure(tmp_path: Path) -> None:
    path = tmp_path / "build" / "bench.json"
    write_json(path, FIGURES)
    found = json.loads(path.read_text())
    assert [entry["name"] for entry in found] == [figure.bar.name for figure in FIGURES]
    assert [entry.get("stolen") for entry in found] == [0.0, 0.124, None, None, 0.0]
    assert [entry["met"] for entry in found] == [True, False, None, None, None]
    assert all({"name", "value", "unit", "better", "bar", "met"} <= entry.keys() for entry in found)
    assert [p.name for p in path.parent.iterdir()] == ["bench.json"]


def test_the_table_marks_what_is_met_and_what_is_missed_and_says_why_the_rest_is_neither() -> None:
    out = io.StringIO()
    print_table(FIGURES, Console(file=out, width=40))
    fast, slow, replay, restart, extra = out.getvalue().splitlines()[1:]
    assert "✓" in fast
    assert "3,100" in fast
    assert "≥ 2,500" in fast
    assert "✗" in slow
    assert "1.2 … 1.4" in slow
    assert "median of 3; the host took 12% of the processors" in slow
    assert "host" not in fast
    assert "not run: needs recorded data; pass --data DIR" in replay
    assert "failed: RuntimeError: [no] luck" in restart
    assert "✓" not in extra


@pytest.mark.parametrize(
    ("value", "shown"), [(24310.4, "24,310"), (812.6, "813"), (11.04, "11"), (3.417, "3.42"), (0.314, "0.31"), (6, "6")]
)
def test_numbers_have_as_many_digits_as_mean_something(value: float, shown: str) -> None:
    assert number(value) == shown
