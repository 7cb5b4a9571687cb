"""Servers of tests end with the tests, however those end, and leave nothing behind."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.servers.daemon import Daemon, free_ports, server_folder

REPOSITORY = Path(__file__).parents[2]
PATIENCE_S = 60.0
STARTS_ONE = """
import sys, time
from pathlib import Path
from tests.servers.daemon import Daemon

daemon = Daemon("sleeper", ["sleep", "1000"], Path(sys.argv[1]))
daemon.start(ready=lambda: True)
print(daemon.pid, flush=True)
time.sleep(1000)
"""

OTHER_RUN = """
import sys
from tests.servers import daemon

taken = int(sys.argv[1])
daemon.SERVER_PORTS = range(taken, taken + 40)
assert taken not in daemon.free_ports(36)
"""


def ends(pid: int) -> bool:
    """Whether a process that may be anybody's child ends in time."""
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    readable, _, _ = select.select([pidfd], [], [], PATIENCE_S)
    os.close(pidfd)
    return bool(readable)


def test_a_daemon_ends_when_the_tests_are_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STARTS_ONE, str(tmp_path)]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as tests:
        assert tests.stdout is not None
        daemon = int(tests.stdout.readline())
        tests.send_signal(signal.SIGKILL)
    assert ends(daemon)


def test_a_daemon_that_ends_at_once_says_what_its_log_says(tmp_path: Path) -> None:
    daemon = Daemon("hasty", ["sh", "-c", "echo no such flag; exit 7"], tmp_path)
    with pytest.raises(AssertionError, match=r"hasty ended with 7; its log:\nno such flag"):
        daemon.start(ready=lambda: False)


def test_a_daemon_starts_again_after_it_was_killed(tmp_path: Path) -> None:
    daemon = Daemon("sleeper", ["sleep", "1000"], tmp_path)
    daemon.start(ready=lambda: True)
    first = daemon.pid
    daemon.kill()
    assert not daemon.alive
    daemon.start(ready=lambda: True)
    assert (daemon.alive, daemon.pid != first) == (True, True)
    daemon.stop()
    assert not daemon.alive


def test_a_folder_goes_with_whatever_still_runs_for_it() -> None:
    with server_folder("test") as folder:
        orphan = subprocess.Popen(["sleep", "1000"], env={**os.environ, "BELONGS_TO": str(folder)})
    assert orphan.wait(PATIENCE_S) == -signal.SIGKILL
    assert not folder.exists()


def test_ports_given_out_together_are_different() -> None:
    assert len(set(free_ports(50))) == 50


def test_a_port_of_one_test_run_is_given_to_no_other() -> None:
    (taken,) = free_ports(1)
    subprocess.run([sys.executable, "-c", OTHER_RUN, str(taken)], cwd=REPOSITORY, timeout=PATIENCE_S, check=True)
