"""What every test run has in common: an honest last word about what was not tested.

A test that needs a program, a server or a package this machine lacks skips itself and names what is missing, as in
`pytest.skip("docker is not installed")`. The run then ends with one line for each missing thing, however many tests
wanted it, so that a green run never hides how much of it did not happen. Fixtures live beside the tests that use them,
except the real servers that several rooms of tests share (`tests/servers/fixtures.py`). Properties have no deadline.
"""

import signal
from collections import Counter, defaultdict
from collections.abc import Iterable

import pytest
from hypothesis import settings

# How long an example takes says how busy the machine is: timings are benchmarks, never assertions.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

pytest_plugins = ["tests.servers.fixtures"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell: programs under test inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


def missing_things(reports: Iterable[pytest.TestReport | pytest.CollectReport]) -> dict[str, Counter[str]]:
    """Counts, for each reason to skip, the tests skipped and the files skipped whole.

    Pytest reports an expected failure as skipped too; that test did run and is left out.
    """
    reasons: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for report in reports:
        if not hasattr(report, "wasxfail") and isinstance(report.longrepr, tuple):
            reason = report.longrepr[2].removeprefix("Skipped: ")
            reasons[reason]["file" if isinstance(report, pytest.CollectReport) else "test"] += 1
    return reasons


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons = missing_things(terminalreporter.getreports("skipped"))
    if reasons:
        terminalreporter.section("not tested on this machine (see `make test-deps`)", sep="-")
    for reason, counts in sorted(reasons.items()):
        lost = " and ".join(f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in sorted(counts.items()))
        terminalreporter.line(f"{lost}: {reason}")
