"""What takes longer than a second says so on a terminal, whichever command it is, and nowhere else."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.e2e.server_process import ServerProcess
from tests.e2e.test_cli import DOVETAIL, clean
from tests.servers.screen_process import ScreenProcess

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("progress")]

SETTINGS = {
    "logging": {"level": "error"},
    "backends": {"sim": {"kind": "simulated", "groups": [{"prefix": "node", "count": 2, "capacity": {"cpu": 8}}]}},
}
#: On a busy machine every answer may take a second, and then there is a note.
ALWAYS_QUICK = """
from dovetail.cli.main import run
from dovetail.cli.terminal import progress
progress.AFTER_S = 3600.0
run()
"""
#: Commands that may have to wait, and words of their answer.
ASKED = {
    "queue": "nothing waits",
    "plan --cpu 1 -- x": "node-",
    "capacity --cpu 1": "node-1",
    "rebalance": "Moves",
    "fragmentation": "GPU",
    "cost": "cost",
    "nodes": "node-2",
    "topology --by health": "online",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path_factory.mktemp("slow"), SETTINGS) as found:
        yield found


@contextmanager
def stopped(server: ServerProcess) -> Iterator[None]:
    """The server takes connections and answers nobody."""
    os.kill(server.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.pid, signal.SIGCONT)


@pytest.mark.parametrize("words", ASKED)
def test_a_command_that_waits_says_so_until_the_answer_comes(
    server: ServerProcess, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with stopped(server):
        screen = ScreenProcess([*DOVETAIL, *words.split()], {**clean(server.url), "TERM": "xterm"})
        screen.until(f"waiting for {server.url}, ")  # how long it waited depends on the machine
    with screen:
        screen.until(ASKED[words], gone=("waiting for",))
        screen.process.wait(60)
        assert b"Traceback" not in screen.raw


def test_a_quick_command_leaves_no_trace(server: ServerProcess) -> None:
    with ScreenProcess([sys.executable, "-c", ALWAYS_QUICK, "queue"], {**clean(server.url), "TERM": "xterm"}) as screen:
        screen.until("nothing waits")
        assert screen.process.wait(60) == 0
        assert b"waiting for" not in screen.raw
        assert b"\x1b" not in screen.raw


def test_in_a_pipe_nothing_is_said(server: ServerProcess) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([*DOVETAIL, "queue"], env=clean(server.url), stdout=pipe, stderr=pipe, text=True) as asking:
        with stopped(server), pytest.raises(subprocess.TimeoutExpired):
            asking.communicate(timeout=2.5)
        out, err = asking.communicate(timeout=60)
    assert (out, err) == ("nothing waits\n", "")
