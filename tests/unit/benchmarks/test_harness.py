"""The harness reports every figure truthfully: measured, missed, not run or failed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.harness import Bench, Better, Figure, Measured, Registry, at_least, at_most, matches
from benchmarks.measuring import once

FAST = at_least("engine.fast", 100, "decisions/s")
SMALL = at_most("engine.small", 5, "MB")


def figures(registry: Registry, tmp_path: Path, only: str | None = None, data: Path | None = None) -> list[Figure]:
    bench = Bench(scratch=tmp_path, data=data)
    return [figure for some in registry.run(bench, only) for figure in some]


def registered(*pairs: tuple[str, float]) -> Registry:
    registry = Registry()

    @registry.benchmark(FAST, SMALL)
    def measure(_: Bench) -> Iterator[tuple[str, Measured]]:
        for name, value in pairs:
            yield name, once(value, "once")

    return registry


@pytest.mark.parametrize(("value", "met"), [(99.9, False), (100, True), (101, True)])
def test_a_figure_that_should_be_high_is_met_from_its_bar_upwards(value: float, met: bool) -> None:
    assert FAST.met_by(value) is met


@pytest.mark.parametrize(("value", "met"), [(4.9, True), (5, True), (5.1, False)])
def test_a_figure_that_should_be_low_is_met_up_to_its_bar(value: float, met: bool) -> None:
    assert SMALL.met_by(value) is met


def test_a_measured_figure_has_all_the_keys_that_readers_rely_on(tmp_path: Path) -> None:
    fast, small = figures(registered(("engine.fast", 120.0), ("engine.small", 6.0)), tmp_path)
    assert fast.to_dict() == {
        "name": "engine.fast",
        "value": 120.0,
        "unit": "decisions/s",
        "better": "higher",
        "bar": 100,
        "met": True,
        "spread": [120.0, 120.0],
        "how": "once",
        "stolen": round(fast.stolen, 3),
    }
    assert small.met is False
    assert small.bar.better is Better.LOWER


def test_missing_data_is_reported_as_not_run_and_never_as_met(tmp_path: Path) -> None:
    registry = Registry()

    @registry.benchmark(FAST)
    def measure(bench: Bench) -> Iterator[tuple[str, Measured]]:
        bench.data_folder("traces")
        yield FAST.name, once(1e9, "once")

    for data in (None, tmp_path):
        (figure,) = figures(registry, tmp_path, data=data)
        found = figure.to_dict()
        assert (found["value"], found["met"]) == (None, None)
        assert "traces" in found["not_run"]
        assert "error" not in found
    (tmp_path / "traces").mkdir()
    assert figures(registry, tmp_path, data=tmp_path)[0].met is True


def test_one_failure_does_not_keep_other_benchmarks_from_running(tmp_path: Path) -> None:
    registry = Registry()

    @registry.benchmark(FAST)
    def broken(_: Bench) -> Iterator[tuple[str, Measured]]:
        raise RuntimeError("no luck")

    @registry.benchmark(SMALL)
    def fine(_: Bench) -> Iterator[tuple[str, Measured]]:
        yield SMALL.name, once(1.0, "once")

    failed, measured = figures(registry, tmp_path)
    assert failed.error == "RuntimeError: no luck"
    assert failed.met is None
    assert measured.met is True


def test_what_was_measured_before_a_failure_is_kept(tmp_path: Path) -> None:
    registry = Registry()

    @registry.benchmark(FAST, SMALL)
    def half(_: Bench) -> Iterator[tuple[str, Measured]]:
        yield FAST.name, once(100.0, "once")
        raise RuntimeError("no luck")

    fast, small = figures(registry, tmp_path)
    assert fast.met is True
    assert "no luck" in small.error


def test_a_figure_that_is_never_yielded_is_a_failure(tmp_path: Path) -> None:
    fast, small = figures(registered(("engine.fast", 120.0)), tmp_path)
    assert fast.met is True
    assert small.error


@pytest.mark.parametrize("pair", [("engine.other", 1.0), ("engine.fast", float("nan")), ("engine.fast", float("inf"))])
def test_an_unknown_name_or_a_value_that_is_no_number_is_a_failure(tmp_path: Path, pair: tuple[str, float]) -> None:
    found = figures(registered(pair), tmp_path)
    assert all(figure.error and figure.met is None for figure in found)


def test_names_are_unique_and_begin_with_their_subject() -> None:
    registry = registered()
    with pytest.raises(ValueError, match="two benchmarks"):
        registry.benchmark(FAST)(lambda _: [])
    with pytest.raises(ValueError, match="two benchmarks"):
        Registry().benchmark(FAST, FAST)(lambda _: [])
    with pytest.raises(ValueError, match="subject"):
        Registry().benchmark(at_least("fast", 1, "s"))(lambda _: [])


def test_only_the_figures_that_match_are_reported(tmp_path: Path) -> None:
    registry = registered(("engine.fast", 120.0), ("engine.small", 1.0))
    assert [figure.bar.name for figure in figures(registry, tmp_path, only="small")] == ["engine.small"]
    assert figures(registry, tmp_path, only="control") == []


@pytest.mark.parametrize("only", [None, "", "engine", "small", "engine.*", "*.small", "engine.small"])
def test_a_pattern_is_a_part_of_the_name_or_a_glob(only: str | None) -> None:
    assert matches("engine.small", only)


@pytest.mark.parametrize("only", ["control", "*.fast", "engine", "small*"])
def test_a_pattern_that_fits_nothing_matches_nothing(only: str) -> None:
    assert not matches("queue.fast.p99", only)


def test_a_scratch_folder_is_on_disk_beside_the_results_and_gone_afterwards(tmp_path: Path) -> None:
    with Bench(scratch=tmp_path / "build").folder() as folder:
        (folder / "file").write_text("")
        assert folder.parent == tmp_path / "build"
    assert not folder.exists()
