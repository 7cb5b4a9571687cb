"""`dovetail kubernetes check`: recorded verdicts beside ours."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.unit.kubernetes.manifests import node, pod

from dovetail.cli.main import app as dovetail
from dovetail.kubernetes.checking.check import CheckReport, check
from dovetail.kubernetes.checking.recorded_scenario import BadScenario, read_scenarios

SCENARIOS = "DOVETAIL_KUBERNETES_SCENARIOS"  # a file of them


def _scenario(**changes: Any) -> dict[str, Any]:
    runs = pod("runs", cpu="3")
    runs["spec"] |= {"nodeName": "full", "priority": 0}
    runs["status"]["phase"] = "Running"
    full = {"feasible": False, "plugin": "NodeResourcesFit", "code": "Unschedulable"}
    small = {"feasible": False, "plugin": "NodeResourcesFit", "code": "UnschedulableAndUnresolvable"}
    found: dict[str, Any] = {
        "id": 7,
        "nodes": [node("full"), node("small", cpu="1")],
        "pods": [runs],
        "pod": pod(cpu="2", priority=10),
        "verdict": {"full": full, "small": small},
        "preemption": {
            "nominatedNode": "full",
            "victims": ["default/runs"],
            "candidates": [{"node": "full", "victims": ["default/runs"], "pdbViolations": 0}],
        },
    }
    return found | changes


def _file(folder: Path, *scenarios: dict[str, Any], packed: bool = False) -> Path:
    path = folder / ("s.jsonl.gz" if packed else "s.jsonl")
    data = "".join(json.dumps(one) + "\n" for one in scenarios).encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    return path


def _report(path: Path) -> tuple[CheckReport, list[str]]:
    report = CheckReport()
    lines = [str(found) for scenario in read_scenarios(path) for found in check(scenario, report)]
    return report, lines


@pytest.mark.parametrize("packed", [False, True])
def test_agreement_is_counted_by_plugin(tmp_path: Path, packed: bool) -> None:
    report, lines = _report(_file(tmp_path, _scenario(), packed=packed))
    assert not lines
    assert report.agrees
    assert (report.feasible.agreed, report.eviction.agreed, report.nominated.agreed) == (2, 2, 1)
    assert report.same_victims == 1
    assert [(plugin, tally.compared) for plugin, tally in report.plugins()] == [("NodeResourcesFit", 2)]


def test_every_kind_of_disagreement_gets_a_line(tmp_path: Path) -> None:
    yes = {"feasible": True}
    helped = {"feasible": False, "plugin": "NodeResourcesFit", "code": "Unschedulable"}
    wrong = _scenario(verdict={"full": yes, "small": helped})
    free = _scenario(verdict={"small": helped}, pods=[])
    report, lines = _report(_file(tmp_path, wrong, free))
    assert not report.agrees
    assert [line.split(":")[0] for line in lines] == [
        "7 default/waits full feasible",
        "7 default/waits small eviction",
        "7 default/waits small eviction",
        "7 default/waits full preemption",
    ]
    assert "kube-scheduler says that it may go there, dovetail has NodeResourcesFit refuse it" in lines[0]
    assert lines[3].endswith("dovetail nominates none")


def test_those_that_are_to_come_to_a_node_and_are_as_urgent_take_its_room(tmp_path: Path) -> None:
    coming = pod("comes", cpu="3", priority=10)
    coming["status"]["nominatedNodeName"] = "full"
    refused = {"feasible": False, "plugin": "NodeResourcesFit", "code": "Unschedulable"}
    same = _scenario(pods=[coming], verdict={"full": refused}, preemption=None)
    assert _report(_file(tmp_path, same))[0].agrees
    coming["spec"]["priority"] = 9
    assert _report(_file(tmp_path, _scenario(pods=[coming], verdict={"full": {"feasible": True}}, preemption=None)))[
        0
    ].agrees


def test_the_command_prints_a_summary_and_fails_where_there_is_a_disagreement(tmp_path: Path) -> None:
    good = CliRunner().invoke(dovetail, ["kubernetes", "check", str(_file(tmp_path, _scenario()))])
    assert good.exit_code == 0
    assert "Feasible nodes agree on 2 of 2 pairs of pod and node (100.00 %)." in good.output
    path = _file(tmp_path, _scenario(), _scenario(verdict={"full": {"feasible": True}}))
    bad = CliRunner().invoke(dovetail, ["kubernetes", "check", str(path), "--json"])
    assert bad.exit_code == 1
    found = json.loads(bad.stdout)
    assert (found["scenarios"], found["disagreements"], len(found["lines"])) == (2, {"feasible": 1}, 1)
    assert CliRunner().invoke(dovetail, ["kubernetes", "check", str(path), "--limit", "1"]).exit_code == 0


def test_a_line_that_is_no_scenario_is_named(tmp_path: Path) -> None:
    path = _file(tmp_path, _scenario(), {"id": 1})
    with pytest.raises(BadScenario, match=r"s\.jsonl, line 2: is no scenario: KeyError 'pod'"):
        _report(path)
    path.write_text("{\n")
    assert CliRunner().invoke(dovetail, ["kubernetes", "check", str(path)]).exit_code == 2
    assert CliRunner().invoke(dovetail, ["kubernetes", "check", str(tmp_path / "none")]).exit_code == 2


@pytest.mark.skipif(SCENARIOS not in os.environ, reason=f"{SCENARIOS} names no file of scenarios")
def test_recorded_scenarios_agree() -> None:
    report, lines = _report(Path(os.environ[SCENARIOS]))
    assert report.scenarios
    assert not lines
