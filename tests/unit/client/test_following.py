"""Following something while the server is away: it is waited for, but not for ever."""

from contextlib import ExitStack
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.patience import wait_for
from tests.unit.api.server import serving, settings_in

from dovetail.cli.main import app
from dovetail.cli.workloads import logs
from dovetail.client import Client, ConnectError, DovetailError
from dovetail.client.reconnecting import Reconnecting

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
