"""What happened and what was used: attempts, unusual tasks first, pages of events, usage."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.patience import wait_for
from tests.servers.own_token import OWN_TOKEN
from tests.unit.api.server import API, problem_in, serving, settings_in, submitted

FAILS = {"command": ["x"], "simulate": {"run_time": "10ms", "exit_code": 3}}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    changes = {"scheduling": {"backoff": {"first": "10ms", "most": "10ms"}}}
    with serving(settings_in(Path(tmp_path_factory.mktemp("data")), **changes)) as found:
        yield found


@pytest.fixture
def http(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(auth=OWN_TOKEN, base_url=url + API, timeout=60, trust_env=False, verify=False) as client:
        yield client


def got(http: httpx.Client, path: str, **params: Any) -> Any:
    answer = http.get(path, params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def ended(http: httpx.Client, name: str) -> dict[str, Any]:
    def asked() -> dict[str, Any] | None:
        row: dict[str, Any] = got(http, f"/workloads/{name}")
        return row if row["finished_at"] is not None else None

    return wait_for(asked)


def test_every_attempt_of_a_retried_task_is_shown_with_its_node_and_times(http: httpx.Client) -> None:
    submitted(http, {"name": "again", "retries": 2, "run": FAILS, "user": "ada"})
    row = ended(http, "again")
    found = got(http, "/workloads/again/attempts")
    assert (found["total"], [one["attempt"] for one in found["items"]]) == (3, [3, 2, 1])
    for one in found["items"]:
        assert (one["state"], one["exit_code"]) == ("failed", 3)
        assert one["node"].startswith("node-")
        assert row["submitted_at"] <= one["placed_at"] <= one["started_at"] <= one["ended_at"]
    ran = sum(one["ended_at"] - one["started_at"] for one in found["items"])
    assert row["ran_s"] == pytest.approx(ran, abs=0.01)
    assert row["placed_at"] == found["items"][-1]["placed_at"]
    page = got(http, "/workloads/again/attempts", limit=1, offset=1, repeated=True)
    assert (page["total"], [one["attempt"] for one in page["items"]]) == (3, [2])


def test_a_drained_task_has_one_attempt_for_each_node(http: httpx.Client) -> None:
    submitted(http, {"name": "drained", "resources": {"cpu": 1}})
    [task] = wait_for(lambda: [one for one in got(http, "/workloads/drained/tasks")["items"] if one["started_at"]])
    http.post(f"/nodes/{task['node']}/drain").raise_for_status()
    rows = wait_for(
        lambda: found if (found := got(http, "/workloads/drained/attempts")["items"])[0]["attempt"] == 2 else None
    )
    http.post(f"/nodes/{task['node']}/uncordon").raise_for_status()
    assert rows[1]["node"] == task["node"] != rows[0]["node"]
    assert (rows[1]["state"], rows[0]["ended_at"]) == ("evicted", None)
    assert rows[1]["ended_at"] <= rows[0]["placed_at"]
    http.delete("/workloads/drained").raise_for_status()


def test_tasks_that_failed_come_first_and_can_be_asked_for_alone(http: httpx.Client) -> None:
    submitted(http, {"name": "mixed", "replicas": 300, "resources": {"cpu": 8}, "run": FAILS, "concurrency": 1})
    wait_for(lambda: got(http, "/workloads/mixed")["failed"] >= 2)
    http.delete("/workloads/mixed").raise_for_status()
    ended(http, "mixed")
    failed = got(http, "/workloads/mixed/tasks", state="failed")
    assert failed["total"] == len(failed["items"]) >= 2
    whole = got(http, "/workloads/mixed/tasks", order="unusual", limit=failed["total"] + 1)
    assert whole["items"][:-1] == failed["items"]
    assert (whole["items"][-1]["state"], whole["total"]) == ("cancelled", 300)
    assert got(http, "/workloads/mixed/tasks", limit=2, offset=3)["total"] == 300
    problem_in(http.get("/workloads/mixed/tasks", params={"state": "sleepy"}), 422)


def test_history_is_paged_from_the_newest(http: httpx.Client) -> None:
    submitted(http, {"name": "told", "run": {"command": ["x"], "simulate": {"run_time": "10ms"}}})
    ended(http, "told")
    oldest_first = got(http, "/workloads/told/history")
    assert oldest_first["cursor"] is None
    found, cursor = [], None
    while True:
        page = got(http, "/workloads/told/history", newest=True, limit=2, **({"before": cursor} if cursor else {}))
        found += page["items"]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert found == oldest_first["items"][::-1]
    assert {(row["namespace"], row["name"]) for row in found} == {("default", "told")}


def test_events_are_chosen_by_kind_namespace_and_time(http: httpx.Client) -> None:
    submitted(http, {"name": "far", "namespace": "research", "run": FAILS})
    wait_for(lambda: got(http, "/workloads/far", namespace="research")["state"] == "failed")
    failed = got(http, "/events", kind=["failed"], namespace="research")["items"]
    assert {row["kind"] for row in failed} == {"failed"}
    assert {row["name"] for row in failed} == {"far"}
    assert got(http, "/events", since=failed[-1]["at"] + 1000)["items"] == []
    of_task = got(http, "/events", workload="far", namespace="research", replica=0)["items"]
    assert {row["replica"] for row in of_task} == {0, None}


def test_usage_adds_up_hours_and_is_chosen_by_user_queue_and_state(http: httpx.Client) -> None:
    run = {"command": ["x"], "simulate": {"run_time": "360ms"}}
    work = {"user": "bob", "resources": {"cpu": 2, "gpu": 1}, "run": run}
    submitted(http, {"name": "used-1", "replicas": 2, **work}, {"name": "used-2", **work})
    for name in ("used-1", "used-2"):
        ended(http, name)
    whole = got(http, "/usage", user="bob")
    newest, older = whole["items"]
    assert (newest["name"], newest["cpu"], newest["gpu"], newest["queue"]) == ("used-2", 2.0, 1.0, "default")
    assert older["cpu_hours"] == pytest.approx(2 * newest["cpu_hours"], rel=0.7)
    assert newest["cpu_hours"] == pytest.approx(2 * newest["gpu_hours"], abs=1e-5)
    total = whole["total"]
    assert (total["workloads"], total["attempts"]) == (2, 3)
    assert total["cpu_hours"] == pytest.approx(newest["cpu_hours"] + older["cpu_hours"], abs=1e-5)
    first = got(http, "/usage", user="bob", limit=1)
    assert (first["total"], first["items"]) == (total, [newest])
    assert got(http, "/usage", user="bob", limit=1, cursor=first["cursor"])["items"] == [older]
    for where in ({"queue": "elsewhere"}, {"state": "failed"}, {"since": 4e9}, {"until": 1.0}, {"namespace": "none"}):
        assert got(http, "/usage", user="bob", **where)["items"] == []
    problem_in(http.get("/usage", params={"cursor": "x"}), 422)


def test_the_output_of_any_attempt_is_read_by_its_end_or_by_time(http: httpx.Client) -> None:
    submitted(http, {"name": "wrote", "retries": 1, "run": FAILS})
    ended(http, "wrote")
    latest, before = (http.get("/workloads/wrote/logs", params={"previous": flag}) for flag in (False, True))
    assert (latest.headers["X-Attempt"], before.headers["X-Attempt"]) == ("2", "1")
    assert before.text == http.get("/workloads/wrote/logs", params={"attempt": 1}).text
    lines = latest.text.splitlines(keepends=True)
    tail = http.get("/workloads/wrote/logs", params={"tail": 1})
    assert (tail.text, tail.headers["X-Ended"]) == (lines[-1], "true")
    assert http.get("/workloads/wrote/logs", params={"tail": 99}).text == latest.text
    assert http.get("/workloads/wrote/logs", params={"since": 4e9}).text == ""
    assert http.get("/workloads/wrote/logs", params={"since": 1}).text == latest.text
    assert "the latest is 2" in problem_in(http.get("/workloads/wrote/logs", params={"attempt": 7}), 404)["detail"]
    submitted(http, {"name": "once", "run": FAILS})
    ended(http, "once")
    assert "no attempt before" in problem_in(http.get("/workloads/once/logs", params={"previous": True}), 404)["detail"]


def test_an_answer_waits_for_output(http: httpx.Client) -> None:
    submitted(http, {"name": "quiet", "run": {"command": ["x"], "simulate": {"run_time": "600ms"}}})
    wait_for(lambda: got(http, "/workloads/quiet")["started_at"])
    offset, text = "0", ""
    while True:
        answer = http.get("/workloads/quiet/logs", params={"offset": offset, "wait": 20})
        assert answer.text, "it was not answered before there was something to say"
        offset, text = answer.headers["X-Next-Offset"], text + answer.text
        if answer.headers["X-Ended"] == "true":
            break
    assert "75% done" in text
