"""What every test run has in common: an honest last word about what was not tested.

A test that needs a program, a server or a package this machine lacks skips itself and names what is missing, as in
`pytest.skip("docker is not installed")`. The run then ends with one line for each missing thing, however many tests
wanted it, so that a green run never hides how much of it did not happen. Fixtures live beside the tests that use them,
except the real servers that several packages of tests share (`tests/servers/fixtures.py`). How many random examples
property tests try, `tests/examples.py` decides.
"""

import atexit
import gc
import os
import shutil
import signal
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.examples import register_profiles

SHARED_MEMORY = Path("/dev/shm")
ROOM_BYTES = 4 * 2**30

register_profiles()

pytest_plugins = ["tests.servers.fixtures", "tests.cpu_report", "tests.one_worker_a_fixture"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell: programs under test inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


gc.disable()  # until all tests are collected: nearly everything made until then lasts


def pytest_collection_finish() -> None:
    gc.freeze()  # no collection looks at eleven thousand tests
    gc.enable()


def keep_files_in_memory() -> None:
    """Puts `tmp_path` where a write waits for no disk: every transaction of a store does. What is killed in tests are
    processes, never the machine, so that they find the same there as on a disk."""
    if "PYTEST_DEBUG_TEMPROOT" in os.environ or tempfile.gettempdir() != "/tmp" or not SHARED_MEMORY.is_dir():
        return
    place = os.statvfs(SHARED_MEMORY)
    may_run_programs = os.access(SHARED_MEMORY, os.W_OK) and not place.f_flag & os.ST_NOEXEC
    if may_run_programs and place.f_bavail * place.f_frsize >= ROOM_BYTES:
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(SHARED_MEMORY)


keep_files_in_memory()


def keep_notes_apart() -> None:
    """Servers of tests note themselves here (`dovetail.access.known_servers`), and not in the home of who runs them."""
    folder = os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="dovetail-test-state-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)


keep_notes_apart()


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
