"""Following something while the server is away: it is waited for, but not for ever."""

from contextlib import ExitStack
from pathlib import Path
from typing import cast

import pytest
from click.testing import CliRunner
from tests.patience import wait_for
from tests.unit.api.server import serving, settings_in

from dovetail.cli.main import app
from dovetail.cli.workloads import logs
from dovetail.client import Client, ConnectError, DovetailError
from dovetail.client.following.reconnecting import Reconnecting
from dovetail.client.following.task_output import FollowedTask, OutputChunk, WorkloadFollower
from dovetail.responses.workloads import TaskRow

RUNS = {"name": "runs", "run": {"command": ["x"]}}


def test_output_that_is_followed_ends_with_an_error_if_the_server_stays_away(tmp_path: Path) -> None:
    heard: list[str] = []
    with serving(settings_in(tmp_path)) as url:
        client = Client(url)
        client.submit(RUNS)
        wait_for(lambda: client.workload("runs")["state"] == "running")
        texts = client.follow_logs("runs", reconnect_s=0.2, on_trouble=heard.append)
        assert "starts on" in next(texts)
        events = client.events(reconnect_s=0.2, after=0)
        next(events)
    with pytest.raises(ConnectError):
        list(texts)
    with pytest.raises(ConnectError):
        list(events)
    assert len(heard) == 1
    client.close()


def test_the_command_that_follows_says_so_and_exits_with_3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = ExitStack()
    url = server.enter_context(serving(settings_in(tmp_path)))
    with Client(url) as client:
        client.submit(RUNS)
        wait_for(lambda: client.workload("runs")["state"] == "running")
    monkeypatch.setattr(logs, "RECONNECT_S", 0.2)
    monkeypatch.setattr(logs, "write", lambda _: server.close())  # it stops after the first output
    result = CliRunner().invoke(app, ["logs", "runs", "-f", "--url", url])
    assert result.exit_code == 3
    assert "runs.0 may go on without it; its output is not whole" in result.stderr


def test_what_the_server_refuses_is_not_asked_again() -> None:
    asked: list[int] = []

    def refused() -> None:
        asked.append(1)
        raise DovetailError({"status": 404, "detail": "no such thing"})

    with pytest.raises(DovetailError):
        Reconnecting(60.0).ask(refused)
    assert len(asked) == 1


def test_a_server_that_is_not_ready_is_asked_again() -> None:
    answers: list[Exception | str] = [DovetailError({"status": 503}), DovetailError({"status": 503}), "here"]

    def ask() -> str:
        found = answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    heard: list[str] = []
    assert Reconnecting(60.0, heard.append).ask(ask) == "here"
    assert len(heard) == 1


def test_attempts_that_came_and_went_between_two_questions_are_not_left_out() -> None:
    written = {1: "first", 2: "second", 3: "third"}

    def read(attempt: int, offset: int = 0, **_: object) -> OutputChunk:
        if attempt == 2 and offset == 0:
            return OutputChunk("sec", 3, False, attempt)
        return OutputChunk(written[attempt][offset:], len(written[attempt]), True, attempt)

    rows = iter([[task_row("running", 1)], [task_row("running", 3)], [task_row("succeeded", 3)]])
    follower = WorkloadFollower(lambda: next(rows), {0: FollowedTask(read)}, Reconnecting(0.0))
    assert list(follower.news()) == [(0, "first")]
    assert not follower.is_over
    assert list(follower.news()) == [(0, "sec"), (0, "ond"), (0, "third")]
    assert list(follower.news()) == []
    assert follower.is_over


def test_a_command_follows_more_tasks_than_there_could_be_threads(tmp_path: Path) -> None:
    with serving(settings_in(tmp_path)) as url, Client(url) as client:
        run = {"command": ["x"], "simulate": {"run_time": "1ms"}}
        client.submit({"name": "many", "replicas": 60, "resources": {"cpu": "10m"}, "run": run})
        result = CliRunner().invoke(app, ["logs", "many", "--all", "-f", "--url", url])
        assert result.exit_code == 0
        titles = {line.partition(": ")[0] for line in result.stdout.splitlines() if line.startswith("many.")}
        assert titles == {f"many.{replica}" for replica in range(60)}


def task_row(state: str, attempt: int) -> TaskRow:
    return cast("TaskRow", {"replica": 0, "state": state, "attempt": attempt})
