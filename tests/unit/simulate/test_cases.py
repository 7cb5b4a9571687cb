"""Cases: a snapshot, a scenario or a batch log, played by one function."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from dovetail.model.text.complaint import Invalid
from dovetail.simulate.cases import CaseFile, SimulationCase, run_case
from dovetail.simulate.replay import Unplayable

SIZE = {"cpu": 8, "memory": "32GiB", "gpu": 4}
NODES = [
    {"node": {"name": f"n-{row}", "capacity": SIZE, "labels": {"rack": f"r{row % 2}"}}, "row": row} for row in range(4)
]


def running(id_: int, node: str, run_time: str = "1h", **fields: Any) -> dict[str, Any]:
    definition = {"name": f"w-{id_}", "resources": {"cpu": 8}, "run": {"simulate": {"run_time": run_time}}, **fields}
    task = {"replica": 0, "state": "running", "attempt": 1, "node": node, "backend": "registered",
            "placed_at": 900.0, "started_at": 900.0}  # fmt: skip
    return {"id": id_, "definition": definition, "submitted_at": 900.0, "state": "running", "started_at": 900.0,
            "tasks": [task]}  # fmt: skip


def waiting(id_: int, **fields: Any) -> dict[str, Any]:
    definition = {"name": f"w-{id_}", "resources": {"cpu": 8}, "run": {"simulate": {"run_time": "10m"}}, **fields}
    return {"id": id_, "definition": definition, "submitted_at": 950.0}


def snapshot(*workloads: dict[str, Any], **fields: Any) -> CaseFile:
    data = {"format": "dovetail-snapshot", "version": 1, "taken_at": 1000.0, "nodes": NODES, "workloads": workloads}
    return CaseFile("state.json", json.dumps(data | fields, indent=1).encode())


def full() -> list[dict[str, Any]]:
    return [running(row + 1, f"n-{row}") for row in range(4)]


def test_work_of_a_snapshot_goes_on_and_what_waits_follows() -> None:
    found = run_case(SimulationCase(snapshot(*full(), waiting(5))), every_workload=True)
    lives = {life["name"]: life for life in found["outcome"]["lives"]}
    assert lives["w-1"]["finished_at"] == 3500.0  # it had run for 100 s of an hour
    assert lives["w-5"]["all_placed_at"] == 3500.0
    assert lives["w-5"]["wait_s"] == 3550.0
    assert found["figures"]["mean_wait_s"] == 3550.0  # what was placed before is not counted
    assert found["figures"]["ended"] == 5


def test_more_nodes_take_what_waits_at_once() -> None:
    for added in ({"like": "n-0"}, {"capacity": {"cpu": 8, "memory": "1GiB"}}):
        found = run_case(SimulationCase(snapshot(*full(), waiting(5)), changes={"add_nodes": [{"count": 1, **added}]}))
        assert found["figures"]["mean_wait_s"] == 50.0


def test_a_removed_node_gives_its_work_back() -> None:
    spare = [running(1, "n-0"), running(2, "n-1")]
    found = run_case(SimulationCase(snapshot(*spare), changes={"remove_nodes": ["n-0"]}), every_workload=True)
    lives = {life["name"]: life for life in found["outcome"]["lives"]}
    assert lives["w-1"]["attempts"] == 1  # again, elsewhere
    assert lives["w-1"]["finished_at"] == 3600.0
    assert lives["w-2"]["attempts"] == 0


def test_a_rack_that_fails_takes_its_nodes_with_it() -> None:
    topology = {"levels": [{"name": "rack", "label": "rack"}]}
    change = {"fail": [{"name": "r0", "at": "10m"}]}
    retried = [running(row + 1, f"n-{row}", retries=3) for row in range(4)]
    found = run_case(SimulationCase(snapshot(*retried, topology=topology), changes=change), every_workload=True)
    ends = sorted(life["finished_at"] for life in found["outcome"]["lives"])
    assert ends[:2] == [3500.0, 3500.0]
    assert ends[2] > 3600.0


def test_an_edited_workload_keeps_its_place_and_a_cancelled_one_is_gone() -> None:
    edited = {"name": "w-5", "resources": {"cpu": 1}, "run": {"simulate": {"run_time": "1m"}}}
    before = [running(row + 1, f"n-{row}", resources={"cpu": 7}) for row in range(4)]
    found = run_case(
        SimulationCase(snapshot(*before, waiting(5)), changes={"workloads": [edited], "cancel": ["default/w-1"]})
    )
    assert found["figures"]["mean_wait_s"] == 50.0
    assert found["outcome"]["states"] == {"cancelled": 1, "succeeded": 4}


def test_another_profile_moves_what_waits() -> None:
    apart = [
        running(1, "n-0", resources={"cpu": 2}),
        waiting(2, resources={"cpu": 1}),
        waiting(3, resources={"cpu": 1}),
    ]
    digests = {
        name: run_case(SimulationCase(snapshot(*apart), profile=name))["digest"]
        for name in ("best_fit", "least_loaded")
    }
    own = run_case(SimulationCase(snapshot(*apart), profile={"scores": {"best_fit": 1}}))
    assert own["digest"] == digests["best_fit"] != digests["least_loaded"]
    assert own["profile"] == "what-if"


def test_the_same_case_gives_the_same_outcome_also_when_it_was_sent_elsewhere() -> None:
    unknown = [waiting(5, run={}), waiting(6, run={})]
    case = SimulationCase(snapshot(*full(), *unknown), seed=3)
    there = pickle.loads(pickle.dumps(case))
    assert run_case(there) == run_case(case)
    assert json.loads(json.dumps(run_case(case))) == run_case(case)
    other = run_case(SimulationCase(case.source, seed=4))
    assert run_case(case)["figures"]["makespan_s"] != other["figures"]["makespan_s"]  # run times are guesses


def test_services_run_on_and_do_not_keep_a_simulation_from_ending() -> None:
    found = run_case(SimulationCase(snapshot(running(1, "n-0", run={}, restart="always"), waiting(5))))
    assert found["outcome"]["states"] == {"running": 1, "succeeded": 1}


def test_scenarios_and_batch_logs_are_cases_too(tmp_path: Path) -> None:
    scenario = tmp_path / "s.yaml"
    scenario.write_text("cluster: {groups: [{prefix: n, count: 2}]}\nworkloads: [{name: a, resources: {cpu: 1}}]\n")
    assert run_case(SimulationCase(CaseFile(str(scenario))))["figures"]["ended"] == 1
    log = tmp_path / "log.swf"
    log.write_text("; MaxProcs: 4\n" + "".join(f"{i} 0 0 60 4 -1 -1 4 60 -1 1 1 1 1 1 1 -1 -1\n" for i in (1, 2)))
    found = run_case(SimulationCase(CaseFile(str(log))))
    assert found["figures"]["max_wait_s"] == 60.0
    assert found["figures"]["cpu_utilisation"] == 1.0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"remove_nodes": ["n-9"]}, "no node 'n-9'"),
        ({"add_nodes": [{"like": "m-1"}]}, "no node 'm-1'"),
        ({"fail": [{"name": "leaf-9"}]}, "no node or domain 'leaf-9'"),
        ({"cancel": ["nobody"]}, "no live workload 'nobody'"),
        ({"profile": "best"}, "unknown profile 'best'"),
        ({"workloads": [{"name": "x", "queue": "nowhere"}]}, "nowhere"),
    ],
)
def test_a_change_that_makes_no_sense_is_named(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(Unplayable, match=words):
        run_case(SimulationCase(snapshot(*full()), changes=changes))


def test_mistakes_in_a_snapshot_have_their_line() -> None:
    broken = full()
    broken[1]["tasks"][0]["node"] = "gone"
    with pytest.raises(Invalid) as caught:
        run_case(SimulationCase(snapshot(*broken)))
    (complaint,) = caught.value.complaints
    assert "no node 'gone'" in complaint.message
    line = snapshot(*broken).read().decode().splitlines()[(complaint.line or 0) - 1]
    assert '"node": "gone"' in line
    with pytest.raises(Invalid, match="reads version 1"):
        run_case(SimulationCase(snapshot(version=2)))
