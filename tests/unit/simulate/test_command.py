"""`dovetail simulate` on the command line, and what it draws."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dovetail.cli.main import app

EXAMPLES = Path(__file__).parents[3] / "examples"
SCENARIO = """\
cluster: {groups: [{prefix: n, count: 4, capacity: {cpu: 4, memory: 16GiB}}], run_time: {median: 2m}}
workloads:
- {name: wide, replicas: 20, resources: {cpu: 1, memory: 1GiB}}
- {name: huge, namespace: other, resources: {cpu: 5}}
"""


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["simulate", *map(str, arguments)], env={"COLUMNS": "80"})


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "scenario.yaml"
    path.write_text(SCENARIO)
    return path


def test_the_summary_comes_first_and_everything_fits_80_columns(scenario: Path) -> None:
    result = run(scenario)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("2 workloads with 21 tasks in ")
    assert max(map(len, lines)) <= 80
    for words in ("wait for a node: mean", "cpu", "tasks waiting", "TENANT", "other/huge", "1 insufficient resources"):
        assert words in result.stdout


def test_profiles_are_compared_side_by_side(scenario: Path) -> None:
    result = run(scenario, "-p", "balanced", "-p", "best_fit", "-p", "balanced")
    assert result.exit_code == 0
    assert "2 profiles" in result.stdout
    assert "balanced  best_fit" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_json_holds_every_figure_and_with_each_every_workload(scenario: Path) -> None:
    short = json.loads(run(scenario, "-o", "json", "--seed", "5").stdout)
    long = json.loads(run(scenario, "-o", "json", "--seed", "5", "--each").stdout)
    assert short["seed"] == 5
    assert short["runs"][0]["digest"] == long["runs"][0]["digest"]
    assert "lives" not in short["runs"][0]
    assert [life["name"] for life in long["runs"][0]["lives"]] == ["wide", "huge"]


def test_until_stops_earlier(scenario: Path) -> None:
    assert json.loads(run(scenario, "--until", "30s", "-o", "json").stdout)["runs"][0]["ended_at_s"] == 30.0


def test_workloads_and_a_cluster_from_files_of_their_own() -> None:
    result = run("-f", EXAMPLES / "workloads.yaml", "--cluster", EXAMPLES / "cluster.yaml")
    assert result.exit_code == 0
    assert result.stdout.startswith("3 workloads with 27 tasks")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "say what to play"),
        (["nowhere.yaml"], "nowhere.yaml: cannot be read"),
        (["-f", "x.yaml"], "say what to play"),
        (["SCENARIO", "--cluster", "c.yaml"], "not both"),
        (["SCENARIO", "-p", "bestfit"], "Did you mean 'best_fit'?"),
        (["SCENARIO", "--until", "later"], "--until: 'later' is not a duration"),
    ],
)
def test_bad_input_is_said_and_ends_with_2(scenario: Path, arguments: list[str], words: str) -> None:
    result = run(*(scenario if argument == "SCENARIO" else argument for argument in arguments))
    assert result.exit_code == 2
    assert words in result.stderr


def test_a_mistake_in_the_scenario_is_named_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("cluster: {groups: [{count: 1}]}\nworkloads:\n- {name: a, resources: {cpu: -1}}\n")
    result = run(path)
    assert result.exit_code == 2
    assert f"{path}:3: workloads[0].resources.cpu" in result.stderr
