"""A soak says what failed, with which seed, and how to see it again."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.soak import __main__ as soak
from tests.soak.findings import Finding, Part, SoakReport
from tests.soak.rounds import SELECTIONS, read_results, run_rounds

RESULTS = """<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest" errors="1" failures="1" skipped="1" tests="4">
  <testcase classname="tests.property.test_a" name="test_that_passes" />
  <testcase classname="tests.property.test_a" name="test_that_fails"><failure message="no">E   assert 1 == 2</failure>
  </testcase>
  <testcase classname="tests.property.test_a" name="test_whose_fixture_fails"><error message="no server" /></testcase>
  <testcase classname="tests.property.test_a" name="test_without"><skipped message="frobd is not installed" />
  </testcase>
</testsuite></testsuites>
"""


def test_failures_and_errors_are_findings_and_skips_are_not(tmp_path: Path) -> None:
    results = tmp_path / "results.xml"
    results.write_text(RESULTS)
    ran, skipped, findings = read_results(results, 7)
    assert (ran, skipped) == (3, "frobd is not installed")
    assert findings == [
        Finding("tests.property.test_a::test_that_fails", 7, "E   assert 1 == 2"),
        Finding("tests.property.test_a::test_whose_fixture_fails", 7, "no server"),
    ]


def test_the_report_names_each_part_and_how_to_repeat_a_finding() -> None:
    found = Part("properties", 7, seconds=90.0, rounds=2, tests=30, findings=[Finding("a::b", 8, "assert 1 == 2")])
    report = SoakReport(7, 3.0, [found, Part("kubernetes-churn", 7, not_run="no programs")])
    lines = str(report).splitlines()
    assert lines[1].split() == ["properties", "1.5", "2", "30", "1"]
    assert lines[2] == "kubernetes-churn     not run: no programs"
    assert '  again: make soak ARGS="--only properties --seed 8"' in lines
    assert report.to_dict()["parts"][0]["findings"] == [{"where": "a::b", "seed": 8, "says": "assert 1 == 2"}]


@pytest.mark.parametrize(
    ("parts", "status"),
    [
        ([Part("a", 1)], 0),
        ([Part("a", 1), Part("b", 1, not_run="no programs")], 0),
        ([Part("a", 1, not_run="no programs")], 2),
        ([Part("a", 1, findings=[Finding("x", 1, "y")]), Part("b", 1, not_run="no programs")], 1),
    ],
)
def test_the_exit_status_says_whether_something_was_found(parts: list[Part], status: int) -> None:
    assert SoakReport(1, 1.0, parts).exit_status == status


def test_only_some_parts_run_and_they_share_the_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ran: list[tuple[str, float, int]] = []

    def note(name: str) -> soak.Run:
        def run(seconds: float, seed: int, say: Callable[[str], None]) -> Part:
            ran.append((name, seconds, seed))
            return Part(name, seed)

        return run

    monkeypatch.setattr(soak, "PARTS", {name: note(name) for name in ("kubernetes-a", "kubernetes-b", "simulation")})
    told = ["soak", "--minutes", "4", "--seed", "2", "--only", "kubernetes*", "--output", str(tmp_path / "soak.json")]
    monkeypatch.setattr("sys.argv", told)
    assert soak.main() == 0
    assert ran == [("kubernetes-a", 120.0, 2), ("kubernetes-b", 120.0, 2)]


def test_every_selection_names_files_that_are_there() -> None:
    root = Path(__file__).parents[2]
    paths = [word for words in SELECTIONS.values() for word in words if word.startswith("tests/")]
    assert paths
    assert all((root / path).exists() for path in paths)


def test_a_part_whose_time_is_over_before_its_first_test_is_not_said_to_have_run() -> None:
    part = run_rounds("simulation", 0.001, 7, say=lambda _: None)
    assert (part.rounds, part.tests) == (1, 0)
    assert part.not_run == "its time was over before a test had ended; give it more minutes"
