"""Queues over HTTP: what waits and until when, the tree, and plans that know quotas, gangs and victims."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.patience import wait_for
from tests.servers.own_token import OWN_TOKEN
from tests.unit.api.server import API, in_state, problem_in, serving, settings_in, submitted

from dovetail.client import Client

SCHEDULING = {
    "queues": {
        "ml": {"guaranteed": {"gpu": 6}, "queues": {"nlp": {"guaranteed": {"gpu": 4}}, "vision": {}}},
        "guest": {"maximum": {"gpu": 5}, "weight": 2},
    },
    "promotion": {"after": "50ms", "most": "medium"},
}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(settings_in(tmp_path_factory.mktemp("data"), scheduling=SCHEDULING)) as found:
        yield found


@pytest.fixture
def http(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(auth=OWN_TOKEN, base_url=url + API, timeout=60, trust_env=False, verify=False) as client:
        yield client
        for row in client.get("/workloads", params={"unfinished": True}).json()["items"]:
            client.delete(f"/workloads/{row['id']}")
        wait_for(lambda: not client.get("/workloads", params={"unfinished": True}).json()["items"])


def test_work_at_its_own_limit_is_in_the_answer_and_says_so(http: httpx.Client) -> None:
    submitted(http, {"name": "few", "replicas": 3, "concurrency": 1})
    in_state(http, "few", "running")
    [few] = http.get("/queue").json()["items"]
    limit = "its own limit of 1 running task is reached (concurrency: 1)"
    assert (few["position"], few["reason"], few["waits_for"]) == (None, "concurrency", limit)
    [row] = http.get("/workloads?name=few").json()["items"]
    for shown in (row, http.get("/workloads/few").json()):
        assert (shown["reason"], shown["message"]) == ("concurrency", limit)
    explained = http.get("/workloads/few/explain").json()
    assert explained["answer"] == f"few is running: 1 of 3 tasks holds a node, 2 wait: {limit}."
    assert explained["now"] is None


def test_a_page_of_the_queue_says_how_many_wait_and_all_pages_together_have_all(url: str, http: httpx.Client) -> None:
    submitted(http, *({"name": f"big-{i}", "resources": {"cpu": 500}} for i in range(5)))
    wait_for(lambda: http.get("/queue").json()["total"] == 5)
    first, second = (http.get("/queue", params={"limit": 3, "offset": at}).json() for at in (0, 3))
    assert (first["total"], len(first["items"]), len(second["items"])) == (5, 3, 2)
    assert [one["position"] for one in first["items"] + second["items"]] == [1, 2, 3, 4, 5]
    with Client(url) as client:
        assert [one["name"] for one in client.queue_page(limit=2, offset=4)["items"]] == ["big-4"]
        assert [one["name"] for one in client.queue(limit=4)] == [f"big-{i}" for i in range(4)]
        found = client.queue_page(limit=10, search="g-3")
        assert ([one["name"] for one in found["items"]], found["total"]) == (["big-3"], 1)
        assert found["items"][0]["position"] == 4, "its place among all"
        queue = found["items"][0]["queue"]
        assert client.queue_page(limit=2, queue=queue)["total"] == 5
        assert client.queue_page(limit=2, queue=f"{queue}/below") == {"items": [], "total": 0}
        assert len(client.queue()) == 5


def test_work_that_neither_its_queue_nor_a_node_can_take_names_both(http: httpx.Client) -> None:
    submitted(http, {"name": "guest", "queue": "guest", "replicas": 2, "resources": {"gpu": 2}})
    in_state(http, "guest", "running")
    submitted(http, {"name": "both", "queue": "guest", "resources": {"gpu": 3}})
    wait_for(lambda: http.get("/workloads/both").json()["reason"])
    answer = http.get("/workloads/both/explain").json()["answer"]
    assert answer.startswith("both waits, number 1 in the queue: gpu short by 1 or more on 4 nodes"), answer
    assert "; and queue guest: gpu 4 of 5 in use, 3 asked" in answer


def test_what_waits_says_where_for_whom_until_when_and_for_what(http: httpx.Client) -> None:
    full = {"name": "full", "replicas": 4, "resources": {"cpu": 8}, "deadline": {"run_for": "10m"}}
    submitted(http, full)
    in_state(http, "full", "running")
    after = [{"workload": "waits"}]
    submitted(
        http,
        {"name": "waits", "queue": "nlp", "user": "ada", "priority": "low", "resources": {"cpu": 8}},
        {"name": "follows", "after": after},
    )
    wait_for(lambda: http.get("/workloads/waits").json()["reason"])
    waits, follows = wait_for(lambda: _promoted(http))
    assert (waits["position"], waits["queue"], waits["user"]) == (1, "ml/nlp", "ada")
    assert (waits["priority"], waits["promoted_from"], waits["preempting"]) == ("medium", "low", False)
    assert waits["waits_for"].startswith("insufficient resources: cpu short by ")
    assert waits["starts_early"] <= waits["starts_at"] <= waits["starts_late"]
    assert (follows["position"], follows["waits_for"]) == (None, "starts after waits (succeeded)")
    assert follows["starts_at"] is None
    for path in ("/workloads/waits", "/workloads/waits/explain"):
        assert http.get(path).json()["starts_at"] == pytest.approx(waits["starts_at"], abs=5)
    assert http.get("/workloads/full").json()["starts_at"] is None
    explained = http.get("/workloads/follows/explain").json()
    assert explained["answer"] == "follows waits: starts after waits (succeeded)."
    assert explained["now"] is None


def _promoted(http: httpx.Client) -> list[dict[str, Any]] | None:
    rows: list[dict[str, Any]] = http.get("/queue").json()["items"]
    return rows if len(rows) == 2 and rows[0]["promoted_from"] else None


def test_the_tree_tells_use_limits_loans_and_fairness(http: httpx.Client) -> None:
    submitted(http, {"name": "borrower", "queue": "guest", "replicas": 4, "resources": {"gpu": 1}})
    in_state(http, "borrower", "running")
    found = http.get("/queues").json()
    rows = {row["path"]: row for row in found["queues"]}
    assert list(rows) == ["ml", "ml/nlp", "ml/vision", "guest", "default"]
    assert [rows[path]["depth"] for path in ("ml", "ml/nlp", "guest")] == [1, 2, 1]
    gpu = rows["guest"]["resources"]["gpu"]
    assert (gpu["used"], gpu["guaranteed"], gpu["maximum"], gpu["borrowed"], gpu["cluster"]) == (4, 0, 5, 4, 8)
    assert (rows["guest"]["dominant"], rows["guest"]["share"], rows["guest"]["weight"]) == ("gpu", 0.5, 2)
    [loan] = found["loans"]
    assert loan["borrowers"] == [{"queue": "guest", "amount": 4}]
    assert loan["lenders"] == [{"queue": "ml/nlp", "amount": 4}]
    tenant = {"tenant": "default", "weight": 1.0, "share": 0.5, "share_with_past": 0.5, "deviation": 0.0}
    assert found["tenants"] == [tenant]  # without a half-life the past does not count


def test_an_unknown_queue_is_a_mistake_at_its_field(http: httpx.Client) -> None:
    problem = problem_in(http.post("/workloads", json={"name": "x", "queue": "nlq"}), 422)
    assert [error["field"] for error in problem["errors"]] == ["queue"]
    assert "Did you mean 'nlp'?" in problem["detail"]
    problem_in(http.post("/plan", json={"name": "x", "queue": "nlq"}), 422)


def test_a_plan_says_first_that_it_is_over_quota(http: httpx.Client) -> None:
    submitted(http, {"name": "holder", "queue": "guest", "replicas": 4, "resources": {"gpu": 1}})
    in_state(http, "holder", "running")
    work = {"name": "more", "queue": "guest", "replicas": 3, "resources": {"gpu": 1}}
    [plan] = http.post("/plan", json=work).json()["plans"]
    assert (plan["placed"], plan["unplaced"], plan["queue"]) == (1, 2, "guest")
    assert plan["over_quota"] == "queue guest: gpu 5 of 5 in use, 1 asked"
    assert plan["over_quota"] in plan["answer"]
    assert plan["displaces"] is None


def test_a_plan_of_a_gang_says_how_many_have_room_and_who_would_give_way(http: httpx.Client) -> None:
    submitted(http, {"name": "nightly", "priority": "batch", "replicas": 2, "resources": {"cpu": 8}})
    in_state(http, "nightly", "running")
    gang = {"name": "gang", "priority": "high", "replicas": 3, "gang": {"min": 3}, "resources": {"cpu": 8}}
    [plan] = http.post("/plan", json=gang).json()["plans"]
    assert (plan["placed"], plan["unplaced"]) == (0, 3)
    assert "gang of 3: 2 have room" in plan["answer"]
    [victim] = plan["displaces"]["victims"]
    assert (victim["name"], victim["priority"], plan["displaces"]["tasks"]) == ("nightly", "batch", 3)
    assert "It would preempt 1 task, so that 3 tasks fit: nightly." in plan["answer"]
    assert http.get("/workloads/nightly").json()["active"] == 2


def test_a_dry_run_refuses_what_a_submission_would_be_refused_for(http: httpx.Client) -> None:
    answer = http.post("/workloads", params={"dry_run": True}, json={"name": "x", "after": [{"workload": "ghost"}]})
    problem = problem_in(answer, 422)
    assert problem["errors"][0]["field"] == "after[0].workload"


def test_a_node_agent_is_told_the_grace_period(http: httpx.Client) -> None:
    http.post("/nodes", json={"name": "far", "capacity": {"cpu": 2}, "labels": {"only": "far"}})
    submitted(http, {"name": "gentle", "node_selector": {"only": "far"}, "disruption": {"grace": "90s"}})
    [order] = wait_for(lambda: http.post("/nodes/far/heartbeat", json={}).json()["run"])
    assert order["grace_s"] == 90
    http.delete("/workloads/gentle")
    http.delete("/nodes/far")
