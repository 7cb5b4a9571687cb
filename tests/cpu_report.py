"""`make test ARGS=--cpu-report`: how much processor time each test costs, its server processes included.

Wall time on a busy machine says little. This counts the processor time of the worker, of the children it has waited
for and of the descendants that still run, before and after each test. A server that a session fixture starts is paid
by the first test that asks for it. Directories and the most expensive tests are printed; the file has every test.
"""

import json
import os
import resource
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

PRINTED_TESTS = 100
_COST = "cpu_s"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cpu-report",
        type=Path,
        nargs="?",
        const=Path("build/test-cpu.json"),
        metavar="FILE",
        help="print the processor time of directories and tests, and write it to FILE (build/test-cpu.json)",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--cpu-report"):
        config.pluginmanager.register(CpuReport(), "cpu-report")


def cpu_seconds() -> float:
    """What this process and all its descendants have used so far, those that have ended included."""
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        total += used.ru_utime + used.ru_stime
    for process in psutil.Process().children(recursive=True):
        try:
            total += sum(process.cpu_times()[:4])
        except psutil.Error:
            continue
    return total


class CpuReport:
    """Workers measure; the process that prints collects from the test reports."""

    def __init__(self) -> None:
        self.costs: dict[str, float] = {}
        self.walls: defaultdict[str, float] = defaultdict(float)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        item.stash[_BEFORE] = cpu_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "teardown":
            # A worker's report reaches the printing process with these properties.
            report.user_properties = [(_COST, cpu_seconds() - item.stash[_BEFORE])]
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.walls[report.nodeid] += report.duration
        for name, value in report.user_properties:
            if name == _COST:
                self.costs[report.nodeid] = float(str(value))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        path = config.getoption("--cpu-report")
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = {test: {"cpu_s": round(cost, 3), "wall_s": round(self.walls[test], 3)} for test, cost in self.ranked()}
        path.write_text(json.dumps(rows, indent=1) + "\n")
        terminalreporter.section(f"processor time, {sum(self.costs.values()):.0f} s in all; {path}", sep="-")
        for line in self.lines():
            terminalreporter.line(line)

    def ranked(self) -> list[tuple[str, float]]:
        return sorted(self.costs.items(), key=lambda item: -item[1])

    def lines(self) -> Iterator[str]:
        for folder, (cost, wall, count) in sorted(self.by_directory().items()):
            yield f"{cost:8.1f} s CPU {wall:8.1f} s wall {count:6} tests  {folder}"
        yield ""
        for test, cost in self.ranked()[:PRINTED_TESTS]:
            yield f"{cost:8.1f} s CPU {self.walls[test]:8.1f} s wall  {test}"

    def by_directory(self) -> dict[str, tuple[float, float, int]]:
        found: dict[str, tuple[float, float, int]] = {}
        for test, cost in self.costs.items():
            folder = os.path.dirname(test.split("::")[0])  # noqa: PTH120 - a test's id, not a path of this machine
            cpu_s, wall_s, count = found.get(folder, (0.0, 0.0, 0))
            found[folder] = (cpu_s + cost, wall_s + self.walls[test], count + 1)
        return found


_BEFORE = pytest.StashKey[float]()
