"""Nodes over HTTP: registering, heartbeats, labels and taints, cordon and drain, reservations, words."""

import json
from typing import Any

import httpx
import pytest
from tests.patience import wait_for
from tests.unit.api.server import in_state, problem_in, submitted

from dovetail.api.nodes import nodes

ON_FAR = {"node_selector": {"place": "far"}}


def registered(http: httpx.Client, name: str, **more: Any) -> dict[str, Any]:
    body = {"name": name, "capacity": {"cpu": 16, "memory": "32GB", "disk": "500GB"}, "labels": {"place": name}}
    answer = http.post("/nodes", json=body | more)
    assert answer.status_code in (200, 201), answer.text
    found: dict[str, Any] = answer.json()
    return found


def beat(http: httpx.Client, name: str, *tasks: dict[str, Any], **more: Any) -> dict[str, Any]:
    answer = http.post(f"/nodes/{name}/heartbeat", json={"tasks": list(tasks)} | more)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_registered_node_fetches_work_and_reports_it(http: httpx.Client) -> None:
    assert registered(http, "far", backend="sim")["backend"] == "registered"
    work = {
        "name": "remote",
        "array": "7",
        "run": {"command": ["true"], "env": {"A": "b"}},
        "limits": {"memory": "1GiB"},
        "deadline": {"run_for": "1h"},
    }
    submitted(http, work | ON_FAR)
    [order] = wait_for(lambda: beat(http, "far")["run"])
    assert beat(http, "far")["run"] == [order]
    assert order["name"] == "remote"
    assert order["run"]["command"] == ["true"]
    assert {"A": "b", "DOVETAIL_WORKLOAD": "remote", "DOVETAIL_ARRAY_INDEX": "7"}.items() <= order["run"]["env"].items()
    assert order["limits"] == {"memory": "1GiB"}
    assert order["deadline"] == {"run_for": "1h"}
    assert (order["replica"], order["replicas"]) == (0, 1)
    assert beat(http, "far", {"key": order["key"], "state": "running"})["run"] == []
    in_state(http, "remote", "running")
    beat(http, "far", {"key": order["key"], "state": "finished", "exit_code": 0})
    in_state(http, "remote", "succeeded")


def test_a_meter_may_say_less_than_any_task_can_ask_for(http: httpx.Client) -> None:
    registered(http, "idle")
    assert beat(http, "idle", used={"cpu": 0.0004, "memory": "1GB"})["run"] == []


def test_a_cancelled_task_is_stopped_on_its_node(http: httpx.Client) -> None:
    registered(http, "brief")
    submitted(http, {"name": "stopped", "node_selector": {"place": "brief"}})
    [order] = wait_for(lambda: beat(http, "brief")["run"])
    beat(http, "brief", {"key": order["key"], "state": "running"})
    http.delete("/workloads/stopped")
    assert wait_for(lambda: beat(http, "brief")["stop"]) == [order["key"]]
    beat(http, "brief", {"key": order["key"], "state": "finished"})
    in_state(http, "stopped", "cancelled")


def test_registering_again_changes_what_is_known(http: httpx.Client) -> None:
    assert http.post("/nodes", json={"name": "again", "capacity": {"cpu": 2}}).status_code == 201
    answer = http.post("/nodes", json={"name": "again", "capacity": {"cpu": 4}})
    assert answer.status_code == 200
    assert answer.json()["resources"]["cpu"]["capacity"] == 4
    assert http.post("/nodes", json=answer.json()["definition"]).json() == answer.json()
    problem_in(http.post("/nodes", json={"name": "node-1"}), 409)
    assert http.delete("/nodes/again").status_code == 204
    problem_in(http.get("/nodes/again"), 404)


def test_a_list_that_is_read_in_slices_is_the_whole_list(http: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    registered(http, "far")
    at_once = http.get("/nodes").json()
    monkeypatch.setattr(nodes, "SLICE", 2)
    in_slices = http.get("/nodes").json()
    assert [node["name"] for node in in_slices["items"]] == sorted(node["name"] for node in at_once["items"])
    assert len(in_slices["items"]) > 2 * nodes.SLICE


def test_measured_use_is_shown_with_the_node(http: httpx.Client) -> None:
    registered(http, "measured")
    beat(http, "measured", used={"cpu": "1500m", "memory": "3GiB"})
    cpu = wait_for(lambda: http.get("/nodes/measured").json()["resources"]["cpu"]["observed"])
    assert cpu == 1.5


def test_the_gpus_of_a_node_are_shown_one_by_one_with_what_is_used(http: httpx.Client) -> None:
    described = [{"count": 2, "model": "H100", "memory": "80GiB", "islands": 2, "numa": [0, 1]}]
    registered(http, "gpu-node", labels={"gpus": "here"}, capacity={"cpu": 4}, gpus=described)
    beat(http, "gpu-node")
    wanted = {"resources": {"gpu": 0.25, "gpu_model": "H100"}, "node_selector": {"gpus": "here"}}
    submitted(http, {"name": "quarter", **wanted})
    found = wait_for(lambda: [gpu for gpu in http.get("/nodes/gpu-node").json()["gpus"] if gpu["used"]])
    assert found == [
        {
            "slot": 0,
            "model": "H100",
            "memory": 80 * 2**30,
            "island": 0,
            "numa": 0,
            "address": None,
            "uuid": None,
            "used": 250,
        }
    ]
    assert "  gpu 0: H100, 80GiB, island 0, numa 0: 0.25 in use" in http.get("/nodes/gpu-node/diagnostics").text
    assert http.get("/nodes/gpu-node").json()["definition"]["gpus"][0]["islands"] == 2
    (task,) = http.get("/nodes/gpu-node/tasks").json()["items"]
    assert task["devices"] == [0]
    [order] = wait_for(lambda: beat(http, "gpu-node")["run"])
    assert order["devices"] == [0]
    assert "gpu 0 of gpu-node" in http.get("/workloads/quarter/explain").text


def test_a_node_keeps_its_gpus_when_a_label_changes(http: httpx.Client) -> None:
    registered(http, "labelled", capacity={"cpu": 4}, gpus=[{"count": 2, "model": "H100", "memory": "80GiB"}])
    before = http.get("/nodes/labelled").json()
    after = http.patch("/nodes/labelled", json={"labels": {"c": "3"}}).json()
    assert [gpu["model"] for gpu in after["gpus"]] == ["H100", "H100"]
    assert after["gpus"] == before["gpus"]


def test_labels_and_taints_are_changed_one_by_one(http: httpx.Client) -> None:
    registered(http, "patched", labels={"a": "1", "b": "2"})
    taints = [{"key": "dedicated", "value": "gpu", "effect": "noschedule"}]
    found = http.patch("/nodes/patched", json={"labels": {"a": None, "c": 3}, "taints": taints}).json()
    assert found["labels"] == {"b": "2", "c": "3"}
    assert found["taints"] == ["dedicated=gpu:NoSchedule"]
    assert http.patch("/nodes/patched", json={"labels": {"b": "4"}}).json()["taints"] == found["taints"]
    assert http.patch("/nodes/patched", json={"taints": []}).json()["taints"] == []


def test_a_cordoned_node_says_why_and_takes_no_work(http: httpx.Client) -> None:
    found = http.post("/nodes/node-4/cordon", json={"reason": "disk is loud"}).json()
    assert (found["status"], found["reason"]) == ("cordoned", "disk is loud")
    submitted(http, {"name": "elsewhere", "node_selector": {"zone": "east"}})
    in_state(http, "elsewhere", "running")
    why = http.get("/workloads/elsewhere/why-not/node-4").json()
    assert why["refused"]
    assert http.post("/nodes/node-4/uncordon").json()["status"] == "online"


def test_a_drained_node_ends_empty(http: httpx.Client) -> None:
    submitted(http, {"name": "mover", "replicas": 4, "node_selector": {"zone": "east"}})
    in_state(http, "mover", "running")
    node = http.get("/workloads/mover/tasks").json()["items"][0]["node"]
    assert any(task["name"] == "mover" for task in http.get(f"/nodes/{node}/tasks").json()["items"])
    assert http.post(f"/nodes/{node}/drain", json={"reason": "repair"}).json()["cordoned"]
    wait_for(lambda: http.get(f"/nodes/{node}").json()["status"] == "drained")
    wait_for(lambda: not http.get(f"/nodes/{node}/tasks").json()["items"])
    http.post(f"/nodes/{node}/uncordon")


def test_diagnostics_describe_a_node_in_words(http: httpx.Client) -> None:
    registered(http, "hypervisor-01")
    work = {"name": "vm", "kind": "vm", "resources": {"cpu": 12, "memory": "24GB", "disk": "100GB"}}
    submitted(http, work | {"node_selector": {"place": "hypervisor-01"}})
    wait_for(lambda: http.get("/nodes/hypervisor-01").json()["tasks"])
    answer = http.get("/nodes/hypervisor-01/diagnostics")
    assert answer.headers["content-type"].startswith("text/plain")
    for line in (
        "Node: hypervisor-01",
        "Status: online",
        "CPU: 12/16 (75.0% used)",
        "Memory: 24.0 GB/32.0 GB (75.0% used)",
        "Disk: 100.0 GB/500.0 GB (20.0% used)",
        "Running tasks: 1 of at most 110",
    ):
        assert line in answer.text.splitlines()


def test_reserved_capacity_is_held_until_it_is_released(http: httpx.Client) -> None:
    body = {"node": "node-3", "resources": {"gpu": 2}, "duration": "2h", "holder": "ada"}
    answer = http.post("/reservations", json=body)
    assert answer.status_code == 201
    made = answer.json()
    assert made["resources"] == {"gpu": 2}
    assert http.get("/reservations").json()["items"] == [made]
    assert http.get("/nodes/node-3").json()["resources"]["gpu"]["free"] == 0
    assert http.delete(f"/reservations/{made['id']}").status_code == 204
    assert http.get("/nodes/node-3").json()["resources"]["gpu"]["free"] == 2
    problem_in(http.delete(f"/reservations/{made['id']}"), 404)


@pytest.mark.parametrize("media_type", ["application/json", "application/json; charset=utf-8"])
def test_a_heartbeat_is_the_same_by_the_short_way_and_by_its_route(http: httpx.Client, media_type: str) -> None:
    """The route reads what the short way leaves to it: bodies of another media type, and everything that is wrong."""
    name = f"both-{len(media_type)}"
    registered(http, name)
    submitted(http, {"name": name, "run": {"command": ["x"]}, "node_selector": {"place": name}})
    [order] = wait_for(lambda: beat(http, name)["run"])
    use = {"cpu_cores": 0.5, "memory_bytes": 2**20, "io_pressure": 0.25}
    body = {"used": {"cpu": "500m"}, "tasks": [{"key": order["key"], "state": "running", "use": use}]}
    answer = http.post(f"/nodes/{name}/heartbeat", content=json.dumps(body), headers={"Content-Type": media_type})
    assert (answer.status_code, answer.json()["run"]) == (200, [])
    assert answer.headers["X-Request-Id"]
    in_state(http, name, "running")
    [task] = http.get(f"/workloads/{name}/tasks").json()["items"]
    assert use.items() <= task["use"].items()
    assert task["use"]["gpus"] is None
    wait_for(lambda: http.get(f"/nodes/{name}").json()["resources"]["cpu"]["observed"] == 0.5)
    for wrong, words in (({"tasks": [{"key": "x"}]}, "tasks"), ({"usde": {}}, "usde")):
        refused = http.post(f"/nodes/{name}/heartbeat", content=json.dumps(wrong), headers={"Content-Type": media_type})
        assert words in problem_in(refused, 422)["detail"]
    twice = http.post(
        f"/nodes/{name}/heartbeat", content='{"tasks": [], "tasks": []}', headers={"Content-Type": media_type}
    )
    assert "gives 'tasks' twice" in problem_in(twice, 422)["detail"]
    assert http.post("/nodes/nobody/heartbeat", json={}).status_code == 404
    assert http.get("/nodes/nobody/orders", params={"after": 0, "wait_s": 0.0}).status_code == 404
    orders = http.get(f"/nodes/{name}/orders", params={"after": 0, "wait_s": 0.0}).json()
    assert orders == http.get(f"/nodes/{name}/orders", params={"wait_s": 0.0, "after": 0}).json()
    beat(http, name, {"key": order["key"], "state": "finished", "exit_code": 0})
    assert "use" not in wait_for(lambda: http.get(f"/workloads/{name}/tasks").json()["items"])[0]
