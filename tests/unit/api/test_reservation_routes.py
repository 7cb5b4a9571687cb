"""Reservations over HTTP: the simple form, domains and shapes, windows to come, and refusals with their reason."""

import time
from typing import Any

import httpx
import pytest
from tests.unit.api.server import in_state, problem_in, submitted

ONE_CORE = {"cpu": 1}


def reserved(http: httpx.Client, **wanted: Any) -> dict[str, Any]:
    answer = http.post("/reservations", json=wanted)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def released(http: httpx.Client, made: dict[str, Any]) -> None:
    assert http.delete(f"/reservations/{made['id']}").status_code == 204


def test_the_simple_form_holds_room_on_one_node_from_now_on(http: httpx.Client) -> None:
    made = reserved(http, node="node-1", resources=ONE_CORE, duration="2h", holder="ada")
    assert (made["node"], made["nodes"], made["resources"]) == ("node-1", {"node-1": {"cpu": "1"}}, {"cpu": "1"})
    assert (made["status"], made["tenant"], made["every_s"], made["target"]) == (
        "active",
        None,
        None,
        "cpu 1 on node-1",
    )
    assert made["until"] - made["start"] == 7200
    assert http.get(f"/reservations/{made['id']}").json() == made
    assert http.get("/nodes/node-1").json()["resources"]["cpu"]["reserved"] == 1
    released(http, made)
    problem_in(http.get(f"/reservations/{made['id']}"), 404)


def test_room_to_come_for_a_tenant_is_planned_and_recurs(http: httpx.Client) -> None:
    wanted = {"count": 3, "resources": ONE_CORE, "start": "+2h", "duration": "1h", "every": "1d", "until": "2099-12-31"}
    made = reserved(http, **wanted, tenant="research")
    assert (made["status"], made["tenant"], made["every_s"]) == ("planned", "research", 86400.0)
    assert made["resources"] == {"cpu": "3", "slots": 3}
    assert made["target"] == "3 tasks of cpu 1"
    assert 0 <= made["start"] - time.time() <= 7200
    assert time.gmtime(made["repeats_until"])[:3] == (2099, 12, 31)
    assert http.get("/reservations").json()["items"] == [made]
    released(http, made)


def test_a_refusal_says_which_node_lacks_what_when_and_because_of_whom(http: httpx.Client) -> None:
    submitted(http, {"name": "server", "resources": ONE_CORE, "run": {"simulate": {}}})
    found = in_state(http, "server", "running")
    [task] = http.get("/workloads/server/tasks").json()["items"]
    problem = problem_in(http.post("/reservations", json={"node": task["node"], "duration": "1h", "start": "+1h"}), 409)
    assert f"node {task['node']!r} lacks 1 of cpu at " in problem["detail"]
    assert f"because of server (workload {found['id']}, no known end)" in problem["detail"]
    assert http.get("/reservations").json()["items"] == []


def test_a_domain_that_is_not_there_is_refused(http: httpx.Client) -> None:
    problem = problem_in(http.post("/reservations", json={"domain": {"rock": "r1"}, "duration": "1h"}), 409)
    assert problem["detail"] == "no node has a label 'rock'"


@pytest.mark.parametrize(
    ("wanted", "field", "words"),
    [
        ({}, "", "give node or nodes"),
        ({"node": "a", "nodes": ["b"]}, "nodes", "cannot be combined with node"),
        ({"nodes": ["a", "a"]}, "nodes", "twice"),
        ({"node": "a", "domain": {"rack": "r1"}}, "domain", "give one of them"),
        ({"node": "a", "count": 2, "resources": ONE_CORE}, "count", "not with node"),
        ({"domain": {"rack": "r1", "zone": "z"}}, "domain", "give one"),
        ({"domain": {"rack": "r1"}, "node_selector": {"a": "b"}}, "node_selector", "write domain"),
        ({"count": 2}, "resources", "is missing"),
        ({"count": 0, "resources": ONE_CORE}, "count", "1"),
        ({"node": "a", "start": "14:00"}, "start", "+2h"),
        ({"node": "a", "start": "+soon"}, "start", "a duration such as"),
        ({"node": "a", "start": -1}, "start", "positive"),
        ({"node": "a", "start": True}, "start", "2026-12-01T08:00"),
        ({"node": "a", "every": "30m"}, "every", "is shorter than duration"),
        ({"node": "a", "every": "1s"}, "every", "5m"),
        ({"node": "a", "until": "2099-01-01"}, "until", "requires every"),
        ({"node": "a", "tenant": "a b"}, "tenant", "is not a name"),
        ({"node": "a", "huld": 1}, "huld", "holder"),
    ],
)
def test_what_cannot_be_meant_is_named(http: httpx.Client, wanted: dict[str, Any], field: str, words: str) -> None:
    problem = problem_in(http.post("/reservations", json={"duration": "1h", **wanted}), 422)
    said = {error["field"]: error["message"] for error in problem["errors"]}
    assert words in said.get(field, f"nothing about {field!r}: {said}")
