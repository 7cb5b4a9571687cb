"""`python -m benchmarks` as a person or CI calls it, on the cheapest real figure."""

import json
from pathlib import Path

import pytest
from benchmarks.__main__ import main
from benchmarks.catalogue import load
from benchmarks.harness import REGISTRY


def test_every_module_of_the_catalogue_registers_its_figures() -> None:
    assert load() == []
    subjects = {name.split(".")[0] for name in REGISTRY.names}
    assert {"engine", "control", "startup"} <= subjects


def test_a_module_that_cannot_be_imported_is_named() -> None:
    (failure,) = load(("benchmarks.no_such_module",))
    assert "benchmarks.no_such_module" in failure


def test_a_run_writes_the_file_and_prints_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "bench.json"
    assert main(["--only", "startup.import", "--out", str(out)]) == 0
    (entry,) = json.loads(out.read_text())
    assert entry["name"] == "startup.import"
    assert entry["value"] > 0
    shown = capsys.readouterr()
    assert "startup.import" in shown.out
    assert "startup.import" in shown.err


def test_a_pattern_without_a_match_is_a_usage_error_that_lists_the_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "no such thing"]) == 2
    assert "engine.one_shape" in capsys.readouterr().err


def test_listing_runs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list", "--only", "engine"]) == 0
    names = capsys.readouterr().out.split()
    assert names
    assert all(name.startswith("engine.") for name in names)
