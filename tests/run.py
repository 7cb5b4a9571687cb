"""`make test`: pytest with its arguments, and once more, alone, what failed among the others.

Many tests start real servers, and six run at once on two cores: what takes a second alone may take a minute there. So
a few tests that failed are run again, one after the other in a process of their own. One that fails again fails the
run; one that passes is named at the end, for whoever makes it independent of the machine. Tests of random examples are
not run again: the example that failed is lost. Nor is anything when more failed than chance explains.

A worker that ends amid a test is replaced (`tests/replacing_workers.py`). What servers leave behind ends with us
(`tests/reaper.py`).
"""

import subprocess
import sys

import pytest
from tests.reaper import run_under_reaper

MOST = 5


class FailedTests:
    """Notes which tests failed, and whether each may be run again."""

    def __init__(self) -> None:
        self.again: set[str] = set()
        self.for_good: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            random = "hypothesis" in report.keywords
            (self.for_good if random else self.again).add(without_group(report.nodeid))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: object) -> object:
        from tests.replacing_workers import ReplacingScheduling  # pytest wants to import pytest-xdist first

        return ReplacingScheduling(config, log)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.for_good.add(report.nodeid)


def without_group(node: str) -> str:
    """As pytest calls it; pytest-xdist adds the name of its group."""
    name, _, group = node.rpartition("@")
    return node if not name or "]" in group else name


def main(arguments: list[str]) -> int:
    failed = FailedTests()
    code = int(pytest.main(arguments, plugins=[failed]))
    again = sorted(failed.again)
    if code != pytest.ExitCode.TESTS_FAILED or failed.for_good or not 0 < len(again) <= MOST:
        return code
    print(f"\nonce more, alone, what failed among the others: {', '.join(again)}", flush=True)
    code = subprocess.run([sys.executable, "-m", "pytest", "-rfp", *again], check=False).returncode
    if code == 0:
        print(f"passed alone, so these depend on how busy the machine is: {', '.join(again)}")
    return code


if __name__ == "__main__":
    run_under_reaper()
    sys.exit(main(sys.argv[1:]))
