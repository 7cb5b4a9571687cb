"""What is shown can be typed after every command that takes a workload; the list of commands is the command table."""

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from tests.every_command import every_command
from tests.patience import wait_for
from tests.unit.api.server import serving, settings_in

from dovetail.cli.main import app
from dovetail.client import Client

ROLES = [{"name": "chief"}, {"name": "worker", "replicas": 2}]
SHORT = {"command": ["x"], "simulate": {"run_time": "1ms"}}

#: How a workload `team/NAME`, its task 1, and the group `team/NAME-group` with its roles may be written.
FORMS = (
    "{name}",
    "team/{name}",
    "{name}.1",
    "team/{name}.1",
    "{id}",
    "{name}-group",
    "team/{name}-group",
    "{name}-group-worker.1",
    "{name}-group.worker",
    "team/{name}-group.chief",
)
#: What else a command needs, by the metavar of the argument.
OTHER_ARGUMENTS = {"NODE": "node-1", "SNAPSHOT": "before", "-- COMMAND": "true"}
#: Exit codes of a command that found what was named: done, it failed, refused in its present state.
FOUND = (0, 1, 5)

_numbers = count()


def takes_workloads() -> list[tuple[str, list[str]]]:
    """Each command and action that takes a workload, with the metavars of its arguments."""
    found = []
    for words, command in every_command().items():
        arguments = [part.metavar or "" for part in command.params if isinstance(part, click.Argument)]
        if any("WORKLOAD" in metavar for metavar in arguments):
            found.append((words, arguments))
    return found


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving(settings_in(tmp_path_factory.mktemp("data"))) as url, Client(url) as found:
        yield found


@pytest.fixture
def name(client: Client) -> str:
    """A workload of two tasks and a group, both ended, so that no command waits for them."""
    found = f"w{next(_numbers)}"
    work: dict[str, Any] = {"namespace": "team", "run": SHORT}
    client.submit([{"name": found, "replicas": 2, **work}, {"name": f"{found}-group", "roles": ROLES, **work}])
    wait_for(lambda: all(row["finished_at"] for row in client.workloads(name=found)["items"]))
    return found


def run(client: Client, *words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["--url", client.url, *words])
    return result.exit_code, result.output


def test_the_commands_are_found() -> None:
    commands = {command for command, _ in takes_workloads()}
    assert {"get", "describe", "logs", "cancel", "explain", "why-not"} <= commands


@pytest.mark.parametrize(("command", "arguments"), takes_workloads(), ids=lambda value: str(value))
def test_a_command_takes_a_workload_however_it_is_written(
    client: Client, name: str, command: str, arguments: list[str]
) -> None:
    id_ = client.workload(name)["id"]
    for form in FORMS:
        written = form.format(name=name, id=id_)
        words = [written if "WORKLOAD" in metavar else OTHER_ARGUMENTS[metavar] for metavar in arguments]
        code, output = run(client, *command.split(), *words)
        assert code in FOUND, f"{command} {written}: {output}"
        assert "no workload" not in output


@pytest.mark.parametrize(("command", "arguments"), takes_workloads(), ids=lambda value: str(value))
def test_a_command_names_the_candidates_and_suggests_what_was_meant(
    client: Client, name: str, command: str, arguments: list[str]
) -> None:
    def said(written: str) -> str:
        words = [written if "WORKLOAD" in metavar else OTHER_ARGUMENTS[metavar] for metavar in arguments]
        return run(client, *command.split(), *words)[1]

    client.submit({"name": name, "namespace": "other", "run": SHORT})
    assert f"write one of: other/{name}, team/{name}" in said(name)
    assert f"Did you mean 'team/{name}-group" in said(f"{name}-groop-worker")


def test_a_group_is_shown_whole(client: Client, name: str) -> None:
    for command in ("get", "describe", "explain"):
        output = run(client, command, f"{name}-group")[1]
        assert f"{name}-group-chief" in output
        assert f"{name}-group-worker" in output


def test_a_named_task_is_the_one_described(client: Client, name: str) -> None:
    described = json.loads(run(client, "describe", f"{name}.1", "-o", "json")[1])
    assert [task["replica"] for task in described["tasks"]] == [1]
    assert run(client, "logs", f"{name}.1") == run(client, "logs", name, "--replica", "1")


def test_tables_show_the_namespace_as_soon_as_it_matters(client: Client) -> None:
    client.submit([{"name": f"stuck{i}", "namespace": "team", "resources": {"cpu": 99}} for i in range(2)])
    wait_for(lambda: len(client.queue()) == 2)
    for command in (["queue"], ["get", "queue"], ["top", "--once"], ["get", "-u"]):
        assert "team/stuck1" in run(client, *command)[1]
    client.cancel("stuck0")
    client.cancel("stuck1")
    client.submit({"name": "plain", "run": SHORT})
    assert "default/plain" not in run(client, "get", "-n", "default")[1]


def test_a_policy_is_attached_to_a_workload_with_its_namespace(client: Client, tmp_path: Path) -> None:
    code, output = run(client, "policy", "set", "near", "--prefer", "true", "--workload", "team/w0")
    assert code == 0, output
    assert client.policy("near")["applies_to"]["workloads"] == ["team/w0"]
