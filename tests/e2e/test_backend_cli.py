"""`dovetail backend` against a real server: what is typed, printed, and the exit code."""

import getpass
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.e2e.test_cli import Shell, serving

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("cli")]


@pytest.fixture(scope="module")
def dovetail(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with serving(tmp_path_factory.mktemp("backends") / "data") as (url, _):
        yield Shell(url)


def test_a_backend_from_being_added_to_being_removed(dovetail: Shell, tmp_path: Path) -> None:
    file = tmp_path / "far.yaml"
    file.write_text("kind: simulated\nforever: true\ngroups: [{count: 2, prefix: far}]\n")
    added = dovetail("backend", "add", "far", "--file", str(file), "--set", "speed=2").stdout
    assert "far, of kind simulated (added" in added
    assert "setting       speed: 2" in added
    rows = {row["name"]: row for row in json.loads(dovetail("backend", "-o", "json").stdout)}
    assert (rows["far"]["nodes"], rows["far"]["source"], rows["local"]["source"]) == (2, "added", "settings")
    assert "in use" in dovetail("backend", "list").stdout
    assert "2 nodes, 0 tasks" in dovetail("backend", "far").stdout
    twice = dovetail("backend", "add", "far", "--kind", "simulated", "--set", "groups=[{count: 2}]", rc=5).stderr
    assert "there is a backend 'far' already; change its settings with --replace" in twice
    assert "speed: 3" in dovetail("backend", "add", "far", "-f", str(file), "--set", "speed=3", "--replace").stdout
    removed = dovetail("backend", "remove", "far", "--by", "ann", "--note", "not needed").stdout
    assert removed == "backend far removed; nodes: 2, tasks to be placed elsewhere: 0\n"
    assert "no backend 'far'" in dovetail("backend", "show", "far", rc=4).stderr
    history = [line["message"] for line in json.loads(dovetail("backend", "history", "far", "-o", "json").stdout)]
    assert history == [
        f"backend far added, of kind simulated by {getpass.getuser()}",
        f"backend far changed (speed) by {getpass.getuser()}",
        "backend far removed with 2 nodes and 0 tasks on them by ann: not needed",
    ]
    assert "changed (speed)" in dovetail("backend", "history", "far").stdout


def test_a_setting_of_the_help_works_as_shown(dovetail: Shell) -> None:
    assert "hosts.a.url=…" in dovetail("backend", "add", "--help").stdout
    with socket.socket(socket.AF_UNIX) as engine, TemporaryDirectory() as folder:
        url = f"unix://{folder}/engine.sock"
        engine.bind(f"{folder}/engine.sock")
        added = dovetail("backend", "add", "box", "--kind", "docker", "--set", f"hosts.a.url={url}")
    assert f'setting hosts: [{{"name": "a", "url": "{url}"}}]' in " ".join(added.stdout.split())
    assert "takes no new work from now on: this is the machine of the control plane" in added.stderr
    dovetail("backend", "remove", "box")


def test_mistakes_are_said_with_what_to_do(dovetail: Shell) -> None:
    assert "say what it is: --kind KIND" in dovetail("backend", "add", "far", rc=2).stderr
    assert "Did you mean 'simulated'?" in dovetail("backend", "add", "far", "--kind", "simulatd", rc=2).stderr
    assert "--set takes FIELD=VALUE" in dovetail("backend", "add", "far", "--kind", "local", "--set", "x", rc=2).stderr
    assert "stands in the settings of the server" in dovetail("backend", "remove", "local", rc=5).stderr
