"""Failures over HTTP: a node or a domain is said to be gone."""

import httpx
from tests.patience import wait_for
from tests.unit.api.server import in_state, problem_in, submitted


def registered(http: httpx.Client, name: str, rack: str) -> None:
    body = {"name": name, "capacity": {"cpu": 2, "memory": "4GiB"}, "labels": {"rack": rack, "place": "failing"}}
    assert http.post("/nodes", json=body).status_code == 201


def test_a_domain_that_failed_is_cordoned_and_what_ran_there_is_placed_elsewhere(http: httpx.Client) -> None:
    registered(http, "f1", "r1")
    submitted(http, {"name": "unlucky", "resources": {"cpu": 2}, "node_selector": {"place": "failing"}})
    wait_for(lambda: http.get("/nodes/f1/tasks").json()["items"] or None)
    registered(http, "f2", "r2")
    answer = http.post("/failures", json={"level": "rack", "name": "r1", "reason": "smoke"})
    assert answer.status_code == 201
    assert answer.json() == {"level": "rack", "name": "r1", "nodes": ["f1"], "recoveries": []}
    node = http.get("/nodes/f1").json()
    assert node["cordoned"]
    assert node["reason"] == "failed with rack r1: smoke"
    wait_for(lambda: http.get("/nodes/f2/tasks").json()["items"] or None)
    in_state(http, "unlucky", "starting", "running")


def test_a_domain_that_nobody_is_in_is_not_found_and_half_a_failure_is_refused(http: httpx.Client) -> None:
    problem_in(http.post("/failures", json={"level": "rack", "name": "nowhere"}), 404)
    problem_in(http.post("/failures", json={"node": "nobody"}), 404)
    problem_in(http.post("/failures", json={"level": "rack"}), 422)


def test_the_answer_says_what_is_done_for_gangs_and_why_there(http: httpx.Client) -> None:
    for name in ("g1", "g2", "g3"):
        body = {"name": name, "capacity": {"cpu": 2, "memory": "4GiB"}, "labels": {"rack": "g", "place": "ganging"}}
        assert http.post("/nodes", json=body).status_code == 201
    gang = {"replicas": 2, "gang": {"min": 2}, "resources": {"cpu": 2}, "node_selector": {"place": "ganging"}}
    submitted(http, {"name": "trainer", **gang, "topology": {"required": "rack"}})
    wait_for(lambda: http.get("/nodes/g1/tasks").json()["items"] or None)
    (line,) = http.post("/failures", json={"node": "g1"}).json()["recoveries"]
    assert line == "gang trainer lost 1 of 2 on g1: replaced on g3 (same rack as the other)"
