"""Mistakes typed on a live server: each answer says what was wrong, where, and what to write, in a user's words."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from tests.unit.api.server import serving, settings_in

from dovetail.cli.main import app

FILES = {
    "manifest.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {}\n",
    "after.yaml": "name: later\nafter: [{workload: nobody}]\n",
    "empty.yaml": "",
}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(settings_in(tmp_path_factory.mktemp("data"))) as found:
        yield found


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("submit -f manifest.yaml", "manifest.yaml:1: is a Kubernetes manifest (kind 'Job'); write a workload: docs/"),
        (
            "submit -f after.yaml",
            "after.yaml:2: after[0].workload: no workload 'nobody' in namespace 'default'; submit",
        ),
        ("submit --name= -- true", "command line: name: '' is not a name; start with a letter"),
        ("submit --env =1 -- true", "command line: run.env: a name here is not the name of a variable; write letters"),
        ("submit -- ''", "the program is empty; write what to run, as in: dovetail submit -- echo hi"),
        ("get 999", "no workload 999; dovetail get lists those there are"),
        ("get --state foo", "command line: state: 'foo' is not accepted. Write one of: pending, starting"),
        ("fail node nosuch", "no node 'nosuch'. dovetail nodes lists them"),
        ("topology import empty.yaml", "No such command 'import'."),
        ("topology set empty.yaml", "empty.yaml: describes nothing; write levels, "),
        ("topology --gpus -4", "command line: gpus: '-4' is negative"),
        ("reserve show 99", "no reservation 99; dovetail reserve list shows those there are"),
        ("reserve create --node node-1 --for never", "command line: duration: 'never' is not a duration"),
        ("reserve create --node node-1 --for 1m --every 1m", "command line: every: '1m' is too small; the least is 5m"),
        ("backend add x --kind docker", "command line: hosts: is required"),
        ("constraint check ''", "the expression is empty; write one such as node.free.cpu > 2"),
        ("constraint check -f empty.txt", "empty.txt is empty; write one such as node.free.cpu > 2"),
        ("affinity set cart", "Usage: dovetail affinity set [OPTIONS] SERVICE NODE...\n"),
    ],
)
def test_a_mistake_is_answered_in_the_words_of_who_typed_it(
    typed: str, answer: str, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {**FILES, "empty.txt": ""}.items():
        (tmp_path / name).write_text(text)
    result = CliRunner().invoke(app, typed, env={"DOVETAIL_URL": url})
    output = click.unstyle(result.output)
    assert result.exit_code in (2, 4), output
    assert answer in output
    assert "request body" not in output
    assert "query parameter" not in output


def test_a_kind_of_event_that_never_came_is_named(url: str) -> None:
    result = CliRunner().invoke(app, "events --kind foo", env={"DOVETAIL_URL": url})
    assert result.exit_code == 0
    assert "no event is of kind foo; the column KIND of dovetail events has those there are" in result.output
