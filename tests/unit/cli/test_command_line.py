"""The command line itself: help, completion, usage errors and exit codes, without a server."""

import json
import os
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from dovetail.cli.command_table import COMMANDS, load
from dovetail.cli.main import app

ELSEWHERE = ("simulate", "demo")  # written in other rooms, tested there


def dovetail(*arguments: str, stdin: str | None = None, env: dict[str, str] | None = None) -> Result:
    clean = {"DOVETAIL_URL": None, "COLUMNS": "80", **(env or {})}
    return CliRunner().invoke(app, list(arguments), input=stdin, env=clean, prog_name="dovetail")


@pytest.fixture
def nobody() -> str:
    """An address where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def test_help_names_every_command_and_the_exit_codes_within_eighty_columns() -> None:
    text = dovetail("--help").output
    assert all(f"  {name}" in text for name in COMMANDS)
    assert "Exit codes: 0 done" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ELSEWHERE])
def test_every_command_of_the_table_has_help(name: str) -> None:
    result = dovetail(name, "--help")
    assert result.exit_code == 0
    assert f"dovetail {name}" in result.output
    assert load(name).help


def test_a_mistyped_command_gets_a_suggestion() -> None:
    result = dovetail("explian")
    assert result.exit_code == 2
    assert "Did you mean 'explain'" in result.output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_completion_scripts_are_printed(shell: str) -> None:
    command = [sys.executable, "-m", "dovetail.cli.main", "completion", shell]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "_DOVETAIL_COMPLETE" in done.stdout


def test_completion_knows_commands_and_options() -> None:
    def completed(words: str) -> str:
        given = {"_DOVETAIL_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        command = [sys.executable, "-c", "from dovetail.cli.main import run; run()"]
        return subprocess.run(command, env={**os.environ, **given}, capture_output=True, text=True, check=True).stdout

    assert completed("dovetail des").split() == ["plain,describe"]
    assert "plain,--dry-run" in completed("dovetail submit --d").split()
    assert "plain,label" in completed("dovetail nodes la").split()


def test_completion_in_powershell_shows_the_help_of_each_word() -> None:
    given = {"_DOVETAIL_COMPLETE": "powershell_complete", "COMP_WORDS": "dovetail des", "COMP_CURRENT": "des"}
    done = dovetail(env=given)
    assert done.output.startswith("describe:::Everything about one")


@pytest.mark.parametrize("command", [["get"], ["queue"], ["explain", "x"], ["top", "--once"], ["nodes"], ["reserve"]])
def test_without_a_server_the_exit_code_is_3_and_the_words_say_what_to_do(command: list[str], nobody: str) -> None:
    result = dovetail(*command, "--url", nobody)
    assert result.exit_code == 3
    assert nobody in result.stderr
    assert "dovetail serve" in result.stderr
    assert result.stdout == ""


def test_the_url_may_stand_before_or_after_the_command_or_in_the_environment(nobody: str) -> None:
    for arguments, env in (
        (["--url", nobody, "get"], {}),
        (["get", "--url", nobody], {"DOVETAIL_URL": "http://127.0.0.1:2"}),
        (["--url", "http://127.0.0.1:2", "get", "--url", nobody], {}),
        (["get"], {"DOVETAIL_URL": nobody}),
    ):
        assert nobody in dovetail(*arguments, env=env).stderr


def test_an_address_that_is_none_is_bad_usage() -> None:
    result = dovetail("get", "--url", "nonsense")
    assert result.exit_code == 2
    assert "'nonsense' is not the address of a server" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["submit"], "say what to submit"),
        (["submit", "-f", "missing.yaml"], "missing.yaml: cannot be read: No such file"),
        (["submit", "--cpu", "lots", "--", "echo"], "command line: resources.cpu"),
        (["submit", "--name", "ünï", "--", "echo"], "command line: name"),
        (["submit", "--env", "X", "--", "echo"], "write it as NAME=VALUE"),
        (["submit", "-f", "x.yaml", "--", "echo"], "not both"),
        (["submit", "-f", "x.yaml", "--cpu", "1"], "--cpu does not go with -f"),
        (["plan"], "say what to plan"),
        (["capacity"], "say what should fit"),
        (["capacity", "--memory", "5 parsecs"], "command line: resources.memory"),
        (["nodes", "label", "n1", "zone"], "KEY=VALUE to set"),
        (["nodes", "taint", "n1", "x"], "KEY=VALUE:EFFECT"),
        (["nodes", "taint", "n1"], "or --none"),
        (["nodes", "register"], "say which node"),
        (["reserve", "add", "n1", "--for", "1h"], "say what to hold"),
        (["reserve", "release", "x"], "'ID'"),
        (["reserve", "create", "--for", "1h"], "say where: --node NODE, --domain LABEL=VALUE, or --count N"),
        (["reserve", "create", "--for", "1h", "--domain", "r1"], "--domain LABEL=VALUE, such as rack=r1"),
        (["reserve", "create", "--for", "1h", "--node", "n", "--at", "25:00"], "now, +2h, 14:00 or 2026-12-01T08:00"),
        (["reserve", "create", "--for", "1h", "--node", "n", "--until", "2026-02-30"], "write one such as 2026-12-01"),
        (["get", "queue", "x"], "only listed as a whole"),
        (["get", "nodes", "--search", "x"], "--match chooses among workloads; what the list of nodes takes:"),
        (["get", "policies", "--sort", "name"], "dovetail policy --help"),
        (["explain", ".."], "'..' is not a name"),
        (["get", "-o", "xml"], "xml"),
        (["logs", "x", "--replica", "-1"], "'--replica'"),
        (["serve", "--port", "99999"], "65535"),
    ],
)
def test_bad_usage_is_exit_code_2_and_says_what_is_wrong(arguments: list[str], words: str) -> None:
    result = dovetail(*arguments)
    assert result.exit_code == 2, result.output
    assert words in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("name", ["w.yaml", "w.YML", "all my work.json"])
def test_a_file_of_workloads_without_f_is_not_taken_for_a_command(
    name: str, nobody: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text("name: w\nrun: {command: [echo]}\n")
    for given in ([name], ["--cpu", "1", "--", name]):
        result = dovetail("submit", *given, env={"DOVETAIL_URL": nobody})
        assert result.exit_code == 2
        said = re.findall(r"dovetail submit (.+?)(?: \(|\)$)", result.stderr)
        advised, on_purpose = (shlex.split(words) for words in said)
        assert advised == ["-f", name]
        assert on_purpose == ["--", "env", name]
    for typed in (advised, on_purpose):  # both go on to the server, where there is none
        assert dovetail("submit", *typed, env={"DOVETAIL_URL": nobody}).exit_code == 3


def test_several_files_may_follow_one_f_as_the_shell_writes_them(
    nobody: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = ["a.yaml", "b.yaml", "c.yaml"]
    for number, name in enumerate(files):
        Path(name).write_text(f"name: w{number}\nrun: {{command: [echo]}}\n")
    assert dovetail("submit", "-f", *files, env={"DOVETAIL_URL": nobody}).exit_code == 3, "there is no server"
    Path("c.yaml").write_text("name: w\nran: {}\n")
    assert "c.yaml:2: ran" in dovetail("submit", "-f", *files, env={"DOVETAIL_URL": nobody}).stderr
    assert "submit -f a.yaml b.yaml c.yaml" in dovetail("submit", *files, env={"DOVETAIL_URL": nobody}).stderr


def test_a_file_that_can_be_run_or_is_not_there_or_has_arguments_is_a_command(
    nobody: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("w.yaml").write_text("#!/bin/sh\n")
    Path("w.yaml").chmod(0o755)
    Path("data.json").write_text("{}")
    Path("folder.yaml").mkdir()
    for command in (["w.yaml"], ["./w.yaml"], ["elsewhere.yaml"], ["data.json", "--check"], ["folder.yaml"]):
        assert dovetail("submit", "--", *command, env={"DOVETAIL_URL": nobody}).exit_code == 3


def test_every_mistake_of_every_file_is_named_with_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("name: a\nreplicas: -1\n---\nname: b\ncolour: red\n")
    (tmp_path / "b.yml").write_text("name: ok\n\tpriority: high\n")
    (tmp_path / "c.json").write_text('{"name": "c", "resources": {"memory": "1 parsec"}}')
    (tmp_path / "notes.txt").write_text("not read")
    result = dovetail("submit", "-f", str(tmp_path))
    assert result.exit_code == 2
    lines = result.stderr.splitlines()
    assert [line.split(": ")[:2] for line in lines] == [
        [f"{tmp_path}/a.yaml:2", "replicas"],
        [f"{tmp_path}/a.yaml:5", "colour"],
        [f"{tmp_path}/b.yml:2", lines[2].split(": ")[1]],
        [f"{tmp_path}/c.json:1", "resources.memory"],
    ]
    assert "tab" in lines[2]


def test_a_name_that_stands_in_two_files_is_named_with_both(tmp_path: Path) -> None:
    for file in ("one.yaml", "two.yaml"):
        (tmp_path / file).write_text("name: same\n")
    result = dovetail("submit", "-f", str(tmp_path))
    assert result.exit_code == 2
    assert f"{tmp_path}/two.yaml: name: 'same' is in {tmp_path}/one.yaml too" in result.stderr


def test_a_folder_without_workloads_says_what_it_looked_for(tmp_path: Path) -> None:
    result = dovetail("submit", "-f", str(tmp_path))
    assert result.exit_code == 2
    assert "holds no file ending in .yaml, .yml, .json" in result.stderr


def test_standard_input_is_named_as_such() -> None:
    result = dovetail("submit", "-f", "-", stdin="name: a\nreplicas: none\n")
    assert result.exit_code == 2
    assert result.stderr.startswith("standard input:2: replicas")


def test_config_check_names_file_line_and_field(tmp_path: Path) -> None:
    file = tmp_path / "dovetail.yaml"
    file.write_text("listen:\n  port: 99999\nlogging:\n  colour: true\n")
    result = dovetail("config", "check", str(file))
    assert result.exit_code == 2
    assert f"{file}:2: listen.port" in result.stderr
    assert f"{file}:4: logging.colour" in result.stderr


def test_config_check_is_content_with_good_settings(tmp_path: Path) -> None:
    file = tmp_path / "dovetail.yaml"
    file.write_text("listen: {port: 9000}\n")
    result = dovetail("config", "check", str(file))
    assert result.exit_code == 0
    assert "good" in result.stdout


def test_config_show_prints_the_settings_in_force_as_yaml_or_json() -> None:
    env = {"DOVETAIL_LISTEN__PORT": "9123"}
    assert yaml.safe_load(dovetail("config", "show", env=env).stdout)["listen"]["port"] == 9123
    assert json.loads(dovetail("config", "show", "-o", "json", env=env).stdout)["listen"]["port"] == 9123


def test_version_answers_without_a_server(nobody: str) -> None:
    result = dovetail("version", "--url", nobody)
    assert result.exit_code == 0
    assert result.stdout.startswith("dovetail ")
    assert "no server answers" in result.stdout
    assert dovetail("--version").stdout == result.stdout.splitlines()[0] + "\n"
