"""Submitting, looking at and cancelling work over HTTP."""

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from tests.patience import wait_for
from tests.unit.api.server import in_state, problem_in, submitted


def test_accepted_work_is_placed_and_can_be_looked_at(http: httpx.Client) -> None:
    [accepted] = submitted(http, {"name": "looked-at", "resources": {"cpu": 1}, "replicas": 2})
    assert set(accepted) == {"id", "namespace", "name"}
    row = in_state(http, "looked-at", "running")
    assert http.get(f"/workloads/{accepted['id']}").json()["id"] == row["id"] == accepted["id"]
    assert row["spec"]["resources"] == {"cpu": "1"}
    assert row["tasks"]["total"] == 2
    assert "shape_json" not in row
    tasks = wait_for(lambda: [t for t in http.get("/workloads/looked-at/tasks").json()["items"] if t["node"]])
    assert {task["node"] for task in tasks} <= {"node-1", "node-2", "node-3", "node-4"}
    assert [t["replica"] for t in http.get("/workloads/looked-at/tasks?offset=1").json()["items"]] == [1]
    decision = http.get("/workloads/looked-at/decisions").json()["items"][0]
    assert decision["explanation"]["outcome"] == "placed"
    kinds = [line["kind"] for line in http.get("/workloads/looked-at/history").json()["items"]]
    assert kinds[0] == "submitted"


def test_the_decisions_come_page_by_page(http: httpx.Client) -> None:
    submitted(http, {"name": "paged", "replicas": 7, "resources": {"cpu": "10m"}})
    path = "/workloads/paged/decisions"
    whole = wait_for(lambda: rows if len(rows := http.get(path).json()["items"]) == 7 else None)
    found: list[dict[str, object]] = []
    cursor = None
    while cursor is not None or not found:
        page = http.get(path, params={"limit": 3} | ({"cursor": cursor} if cursor else {})).json()
        found += page["items"]
        cursor = page["cursor"]
    assert found == whole
    assert "is not a cursor" in problem_in(http.get(path, params={"cursor": "x"}), 422)["errors"][0]["message"]
    http.delete("/workloads/paged")


def test_a_plan_goes_as_far_as_is_asked(http: httpx.Client) -> None:
    work = {"name": "wide", "replicas": 5, "resources": {"cpu": "1m"}}
    [some] = http.post("/plan?tasks=3", json=work).json()["plans"]
    assert some["answer"].startswith("The first 3 of 5 tasks of wide would be placed")
    assert some["answer"].endswith("; for all of them: dovetail plan --tasks 5.")
    [whole] = http.post("/plan?tasks=5", json=work).json()["plans"]
    assert whole["placed"] == 5


@pytest.mark.parametrize(
    ("name", "wrap"),
    [("one", lambda work: work), ("listed", lambda work: [work]), ("wrapped", lambda work: {"workloads": [work]})],
)
def test_work_may_come_alone_in_a_list_or_wrapped(http: httpx.Client, name: str, wrap: object) -> None:
    assert callable(wrap)
    answer = http.post("/workloads", json=wrap({"name": name}))
    assert answer.status_code == 201
    assert [accepted["name"] for accepted in answer.json()["accepted"]] == [name]


def test_yaml_may_hold_several_documents(http: httpx.Client) -> None:
    text = "name: yaml-a\n---\n- name: yaml-b\n- name: yaml-c\n---\nworkloads:\n- name: yaml-d\n"
    answer = http.post("/workloads", content=text.encode(), headers={"Content-Type": "application/yaml"})
    assert [accepted["name"] for accepted in answer.json()["accepted"]] == ["yaml-a", "yaml-b", "yaml-c", "yaml-d"]


def test_a_mistake_in_yaml_is_named_with_its_line(http: httpx.Client) -> None:
    text = "name: fine\n---\nname: wrong\nresources:\n  cpu: lots\n"
    problem = problem_in(
        http.post("/workloads", content=text.encode(), headers={"Content-Type": "text/yaml; charset=utf-8"}), 422
    )
    assert [(error["line"], error["field"]) for error in problem["errors"]] == [(5, "resources.cpu")]


def test_the_same_idempotency_key_gives_the_first_answer_again(http: httpx.Client) -> None:
    answers = [
        http.post("/workloads", json={"name": "once"}, headers={"Idempotency-Key": "key-of-once"}) for _ in range(3)
    ]
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.text for answer in answers}) == 1


def test_an_idempotency_key_stands_for_one_request(http: httpx.Client) -> None:
    key = {"Idempotency-Key": "key-of-two"}
    assert http.post("/workloads", json={"name": "two"}, headers=key).status_code == 201
    for other, params in (({"name": "three"}, {}), ({"name": "two"}, {"user": "ann"})):
        problem = problem_in(http.post("/workloads", json=other, params=params, headers=key), 422)
        assert "another submission" in problem["errors"][0]["message"]
    problem_in(http.get("/workloads/three"), 404)
    problem_in(http.post("/workloads", headers={"Idempotency-Key": "key-of-nothing"}), 422)


def test_a_submission_that_meets_itself_is_one_submission(http: httpx.Client) -> None:
    def sent(_: int) -> httpx.Response:
        return http.post("/workloads", json={"name": "met-itself"}, headers={"Idempotency-Key": "key-of-both"})

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(sent, range(16)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.text for answer in answers}) == 1


def test_a_dry_run_answers_with_a_plan_and_writes_nothing(http: httpx.Client) -> None:
    answer = http.post("/workloads", json={"name": "dry"}, params={"dry_run": True})
    assert answer.status_code == 200
    assert answer.json()["plans"][0]["placed"] == 1
    problem_in(http.get("/workloads/dry"), 404)


def test_lists_are_filtered_and_paged(http: httpx.Client) -> None:
    work = [{"name": f"page-{i}", "namespace": "paged", "user": "ada" if i % 2 else "bob"} for i in range(7)]
    submitted(http, *work)
    found: list[str] = []
    cursor: str | None = None
    while True:
        place = "" if cursor is None else f"&cursor={cursor}"
        page = http.get(f"/workloads?namespace=paged&limit=3{place}").json()
        found += [row["name"] for row in page["items"]]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert found == [f"page-{i}" for i in reversed(range(7))]
    of_ada = http.get("/workloads", params={"namespace": "paged", "user": "ada"}).json()["items"]
    assert {row["name"] for row in of_ada} == {"page-1", "page-3", "page-5"}
    named = http.get("/workloads", params={"name": "AGE-4", "unfinished": True}).json()["items"]
    assert [row["name"] for row in named] == ["page-4"]


def test_a_name_belongs_to_its_namespace(http: httpx.Client) -> None:
    submitted(http, {"name": "twin"}, {"name": "twin", "namespace": "elsewhere"})
    here, there = http.get("/workloads/twin").json(), http.get("/workloads/twin?namespace=elsewhere").json()
    assert here["id"] != there["id"]


def test_cancelling_ends_the_work_and_again_says_that_it_is_finished(http: httpx.Client) -> None:
    submitted(http, {"name": "unwanted", "replicas": 3})
    in_state(http, "unwanted", "running")
    answer = http.delete("/workloads/unwanted", params={"reason": "changed my mind"})
    assert answer.status_code == 202
    row = in_state(http, "unwanted", "cancelled")
    assert row["tasks"]["cancelled"] == 3
    assert "changed my mind" in row["message"]
    assert "already finished" in problem_in(http.delete("/workloads/unwanted"), 409)["detail"]
    submitted(http, {"name": "unwanted"})


def test_output_is_read_in_pieces_and_followed_to_its_end(http: httpx.Client) -> None:
    submitted(http, {"name": "talks", "run": {"command": ["say", "hello"], "simulate": {"run_time": "200ms"}}})
    wait_for(lambda: http.get("/workloads/talks/logs").status_code == 200)
    with http.stream("GET", "/workloads/talks/logs", params={"follow": True}) as answer:
        followed = "".join(answer.iter_text())
    in_state(http, "talks", "succeeded")
    text, offset, ended = "", 0, False
    while not ended:
        piece = http.get("/workloads/talks/logs", params={"offset": offset, "limit": 16})
        assert piece.headers["content-type"].startswith("text/plain")
        text, offset = text + piece.text, int(piece.headers["x-next-offset"])
        ended = piece.headers["x-ended"] == "true"
    assert text == followed
    assert "talks" in text


def test_work_that_was_never_placed_has_no_output_yet(http: httpx.Client) -> None:
    submitted(http, {"name": "silent", "resources": {"cpu": 1000}})
    wait_for(lambda: http.get("/workloads/silent").json()["reason"])
    assert "no logs yet" in problem_in(http.get("/workloads/silent/logs"), 404)["detail"]
    http.delete("/workloads/silent")
