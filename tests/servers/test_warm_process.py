"""A forked program starts and ends as one that a shell starts: everything here is asked of both."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.patience import wait_for
from tests.processes import process_lives
from tests.servers import sample_program
from tests.servers.warm_process import REPOSITORY, WarmProcess

PATIENCE_S = 60.0
STARTS_ONE = f"""
import subprocess, sys, time
from tests.servers.warm_process import WarmProcess

sleeper = WarmProcess([sys.executable, "-m", {sample_program.__name__!r}, "sleep"], stdout=subprocess.DEVNULL)
print(sleeper.pid, flush=True)
time.sleep(1000)
"""
Start = Callable[..., Any]


def cold(command: list[str], **how: Any) -> "subprocess.Popen[str]":
    return subprocess.Popen(command, text=True, start_new_session=True, **{"cwd": REPOSITORY, **how})


@pytest.fixture(params=[cold, WarmProcess], ids=["cold", "warm"])
def start(request: pytest.FixtureRequest) -> Start:
    def start(*arguments: str, **how: Any) -> Any:
        command = [sys.executable, "-m", sample_program.__name__, *arguments]
        return request.param(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)

    return start


def said(process: Any) -> tuple[int, str, str]:
    with process:
        out, err = process.stdout.read(), process.stderr.read()
        return process.wait(PATIENCE_S), out, err


def test_it_has_its_own_arguments_environment_folder_session_and_streams(start: Start, tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.write_text("some words")
    environment = {"PYTHONPATH": str(REPOSITORY), "LC_ALL": "C.UTF-8", "OWN": "ä"}
    with given.open() as stdin:
        status, out, err = said(start("describe", "two words", stdin=stdin, env=environment, cwd=tmp_path))
    assert (status, err) == (0, "")
    about = json.loads(out)
    assert about.pop("files")[:3] == [0, 1, 2]
    assert about == {
        "arguments": ["describe", "two words"],
        "name": "__main__",
        "file": sample_program.__file__,
        "environment": environment,
        "folder": str(tmp_path),
        "leads_its_session": True,
        "threads": 1,
        "given": "some words",
    }


def test_it_inherits_no_open_file(start: Start) -> None:
    with start("sleep") as sleeper:  # what the first one has is nothing to the second
        assert sleeper.stdout.readline() == "sleeps\n"
        files = json.loads(said(start("describe", stdin=subprocess.DEVNULL))[1])["files"]
        sleeper.kill()
    assert len(files) == 4  # the fourth lists them


@pytest.mark.parametrize(
    ("what", "status", "out", "err"),
    [
        ("exit", 7, "", ""),
        ("complain", 1, "", "no such thing\n"),
        ("fail", 1, "", "ValueError: out of range\n"),
        ("leave-late", 0, "in a thread\nat exit\n", ""),
    ],
)
def test_it_ends_as_programs_end(start: Start, what: str, status: int, out: str, err: str) -> None:
    ended = said(start(what))
    assert ended[:2] == (status, out)
    assert ended[2].endswith(err)
    assert ended[2].startswith("Traceback") == (what == "fail")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_it(start: Start, number: signal.Signals) -> None:
    with start("sleep") as sleeper:
        assert sleeper.stdout.readline() == "sleeps\n"
        assert sleeper.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            sleeper.wait(0.01)
        sleeper.send_signal(number)
        assert sleeper.wait(PATIENCE_S) == sleeper.poll() == -number
        assert ("KeyboardInterrupt" in sleeper.stderr.read()) == (number == signal.SIGINT)
        assert not process_lives(sleeper.pid)
        sleeper.kill()  # too late, and no harm


def test_it_ends_when_the_tests_are_killed() -> None:
    command = [sys.executable, "-c", STARTS_ONE]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as tests:
        assert tests.stdout is not None
        sleeper = int(tests.stdout.readline())
        assert process_lives(sleeper)
        tests.kill()
    wait_for(lambda: not process_lives(sleeper))


def test_only_programs_of_ours_are_started() -> None:
    with pytest.raises(AssertionError, match="not a program of ours"):
        WarmProcess(["sleep", "1", "2"])


def test_what_it_is_given_to_write_to_may_be_our_own(capfd: pytest.CaptureFixture[str]) -> None:
    assert WarmProcess([sys.executable, "-m", sample_program.__name__, "complain"], env=os.environ).wait() == 1
    assert capfd.readouterr().err == "no such thing\n"
