"""Policies over HTTP: versions, attachments, what a change came to, and every mistake with its place."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from tests.patience import wait_for
from tests.servers.own_token import OWN_TOKEN
from tests.unit.api.server import API, in_state, problem_in, serving, settings_in, submitted

EAST = 'node.labels.zone == "east"'
MARS = 'node.labels.zone == "mars"'
EVERYWHERE = {"namespaces": ["*"]}


def put(http: httpx.Client, name: str, status: int = 200, by: str = "", **policy: Any) -> dict[str, Any]:
    answer = http.put(f"/policies/{name}", json=policy, params={"by": by} if by else {})
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.fixture
def clean(http: httpx.Client) -> Iterator[None]:
    """No policies and no work, before and after."""
    yield
    for row in http.get("/workloads", params={"unfinished": True}).json()["items"]:
        http.delete(f"/workloads/{row['id']}", params={"namespace": row["namespace"]})
    wait_for(lambda: not http.get("/workloads", params={"unfinished": True}).json()["items"])
    for policy in http.get("/policies").json()["items"]:
        assert http.delete(f"/policies/{policy['name']}").status_code == 204


pytestmark = pytest.mark.usefixtures("clean")


def work(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "resources": {"cpu": 1}, "run": {"simulate": {}}, **fields}


# --- versions --------------------------------------------------------------------------------------------------


def test_every_change_makes_a_version_and_the_same_again_makes_none(http: httpx.Client) -> None:
    first = put(http, "versions", 201, by="ada", require=EAST)
    assert (first["name"], first["version"], first["changed"]) == ("versions", 1, True)
    again = put(http, "versions", require=EAST)
    assert (again["version"], again["changed"]) == (1, False)
    second = put(http, "versions", require=EAST, description="because")
    assert second["version"] == 2
    rows = http.get("/policies/versions/versions").json()["items"]
    assert [(row["version"], row["author"], row["changed"]) for row in rows] == [
        (2, "", ["description"]),
        (1, "ada", []),
    ]
    assert rows[1]["definition"] == {"name": "versions", "require": EAST}
    assert http.get("/policies/versions/versions/1").json() == rows[1]
    problem = problem_in(http.get("/policies/versions/versions/7"), 404)
    assert "its last is 2" in problem["detail"]


def test_changes_that_come_at_once_are_numbered_one_after_the_other(http: httpx.Client) -> None:
    def change(number: int) -> int:
        answer = http.put("/policies/busy", json={"require": EAST, "description": f"change {number}"})
        return int(answer.json()["version"])

    with ThreadPoolExecutor(8) as several:
        made = sorted(several.map(change, range(24)))
    assert made == list(range(1, 25))
    rows = http.get("/policies/busy/versions").json()["items"]
    assert [row["version"] for row in rows] == made[::-1]
    assert {row["definition"]["description"] for row in rows} == {f"change {number}" for number in range(24)}


def test_a_removed_policy_keeps_its_history_and_its_numbers(http: httpx.Client) -> None:
    put(http, "gone", 201, require=EAST)
    assert http.delete("/policies/gone", params={"note": "enough"}).status_code == 204
    problem_in(http.get("/policies/gone"), 404)
    problem_in(http.delete("/policies/gone"), 404)
    newest = http.get("/policies/gone/versions").json()["items"][0]
    assert (newest["version"], newest["removed"], newest["note"]) == (2, True, "enough")
    assert put(http, "gone", 201, require=EAST)["version"] == 3


def test_an_unknown_policy_gets_a_suggestion(http: httpx.Client) -> None:
    put(http, "nearby", 201, require=EAST)
    assert "Did you mean 'nearby'?" in problem_in(http.get("/policies/neerby"), 404)["detail"]
    problem_in(http.get("/policies/neerby/versions"), 404)
    problem_in(http.get("/policies/neerby/violations"), 404)


# --- what it does ----------------------------------------------------------------------------------------------


def test_a_policy_is_in_force_from_the_moment_it_is_answered(http: httpx.Client) -> None:
    put(http, "moon", 201, require=MARS, applies_to=EVERYWHERE)
    submitted(http, work("waits"))
    wait_for(lambda: http.get("/workloads/waits").json()["message"])
    explained = http.get("/workloads/waits/explain").json()
    assert "policy moon" in explained["answer"]
    changed = put(http, "moon", require=EAST, applies_to=EVERYWHERE)
    assert (changed["reconsidered"], changed["workloads"], changed["violating"]) == (1, 1, 0)
    in_state(http, "waits", "running")


def test_what_runs_against_a_policy_is_listed_and_goes_on_running(http: httpx.Client) -> None:
    submitted(http, work("runs", replicas=2))
    in_state(http, "runs", "running")
    wait_for(lambda: http.get("/workloads/runs").json()["active"] == 2)
    changed = put(http, "moon", 201, require=MARS, applies_to=EVERYWHERE)
    assert changed["violating"] == 2
    found = http.get("/policies/moon/violations").json()["items"]
    assert changed["violations"] == found
    assert [(row["namespace"], row["name"], row["replica"]) for row in found] == [
        ("default", "runs", n) for n in (0, 1)
    ]
    assert 'label zone is "east"' in found[0]["why"]
    assert http.get("/workloads/runs").json()["active"] == 2


def test_a_policy_that_live_work_names_cannot_be_removed(http: httpx.Client) -> None:
    put(http, "wanted", 201, prefer=EAST)
    submitted(http, work("namer", policies=["wanted"]))
    problem = problem_in(http.delete("/policies/wanted"), 409)
    assert "default/namer" in problem["detail"]
    assert http.get("/policies/wanted").json()["workloads"] == 1


def test_work_that_names_an_unknown_policy_is_refused(http: httpx.Client) -> None:
    put(http, "known", 201, prefer=EAST)
    problem = problem_in(http.post("/workloads", json=work("w", policies=["known", "knwon"])), 422)
    (error,) = problem["errors"]
    assert (error["source"], error["field"]) == ("workload w", "policies[1]")
    assert "Did you mean 'known'?" in error["message"]
    problem_in(http.post("/plan", json=work("w", policies=["nobody"])), 422)


def test_attachments_come_and_go(http: httpx.Client) -> None:
    put(http, "rule", 201, require=EAST)
    body = {"namespaces": ["team-*"], "services": ["shop/cart"]}
    attached = http.post("/policies/rule/attachments", json=body, params={"by": "ada"}).json()
    assert attached["applies_to"] == {**body, "workloads": []}
    assert attached["version"] == 2
    newest = http.get("/policies/rule/versions/2").json()
    assert (newest["author"], newest["note"]) == ("ada", "attached to namespace team-*, service shop/cart")
    gone = http.request("DELETE", "/policies/rule/attachments", json={"services": ["shop/cart"]}).json()
    assert gone["applies_to"]["services"] == []
    again = http.request("DELETE", "/policies/rule/attachments", json={"services": ["shop/cart"]})
    assert problem_in(again, 409)["detail"] == "policy rule is not attached to service shop/cart"
    problem_in(http.post("/policies/rule/attachments", json={}), 422)
    many = {"workloads": [f"w{number}" for number in range(1000)]}
    assert http.post("/policies/rule/attachments", json=many).status_code == 200
    problem = problem_in(http.post("/policies/rule/attachments", json={"workloads": ["one-more"]}), 422)
    assert problem["errors"][0]["field"] == "workloads"
    problem_in(http.post("/policies/other/attachments", json=body), 404)


def test_an_adjusted_constraint_says_why_and_the_history_tells_of_it(http: httpx.Client) -> None:
    rule = {"when": "cluster.nodes >= 4", "until": "cluster.nodes < 2", "weight": 0.1}
    found = put(http, "dynamic", 201, prefer=EAST, weight=0.8, adjust=[rule])
    (constraint,) = found["in_force"]
    assert (constraint["asked"], constraint["demand"], constraint["weight"]) == ("prefer", "prefer", 0.1)
    assert "cluster.nodes is 4" in constraint["because"]
    assert constraint["adjust"][0]["on"]
    assert constraint["since"] == found["set_at"]
    told = [line["message"] for line in http.get("/events", params={"limit": 1000}).json()["items"]]
    assert any("policy dynamic" in line and "weight 0.1, since" in line for line in told)
    assert (
        'dovetail_policy_adjustments_total{policy="dynamic",to="on"} 1.0'
        in http.get(str(http.base_url).removesuffix(f"{API}/") + "/metrics").text
    )


# --- mistakes --------------------------------------------------------------------------------------------------


def test_every_expression_that_makes_no_sense_is_named_with_its_place(http: httpx.Client) -> None:
    rules = [
        {"require": "node.fre.cpu > 1.0"},
        {"prefer": EAST, "adjust": [{"when": EAST, "until": "1 +", "off": True}]},
    ]
    problem = problem_in(http.put("/policies/bad", json={"constraints": rules}), 422)
    said = {error["field"]: error for error in problem["errors"]}
    assert set(said) == {"constraints[0].require", "constraints[1].adjust[0].when", "constraints[1].adjust[0].until"}
    assert "Did you mean 'free'?" in said["constraints[0].require"]["message"]
    text, caret = said["constraints[0].require"]["detail"].splitlines()
    assert text.strip() == "node.fre.cpu > 1.0"
    assert caret.index("^") == text.index("fre")
    problem_in(http.get("/policies/bad"), 404)


@pytest.mark.parametrize(
    ("policy", "field"),
    [
        ({}, ""),
        ({"name": "other", "require": "true"}, "name"),
        ({"require": "true", "wieght": 1}, "wieght"),
        ({"require": "true", "description": "\x1b[31mred"}, "description"),
        ({"constraints": [{"require": {"left": "node.labels.zone"}}]}, "constraints[0].require"),
    ],
)
def test_what_is_no_policy_is_refused(http: httpx.Client, policy: dict[str, Any], field: str) -> None:
    problem = problem_in(http.put("/policies/bad", json=policy), 422)
    assert field in [error["field"] for error in problem["errors"]]


def test_who_and_why_are_plain_text(http: httpx.Client) -> None:
    answer = http.put("/policies/bad", json={"require": "true"}, params={"by": "\x1b[31m"})
    assert problem_in(answer, 422)["errors"][0]["field"] == "by"


# --- across a restart ------------------------------------------------------------------------------------------


def test_policies_survive_a_restart(tmp_path_factory: pytest.TempPathFactory) -> None:
    settings = settings_in(tmp_path_factory.mktemp("restart"))
    with (
        serving(settings) as url,
        httpx.Client(auth=OWN_TOKEN, base_url=url + API, trust_env=False, verify=False, timeout=60) as http,
    ):
        put(http, "kept", 201, prefer=EAST, adjust=[{"when": "cluster.nodes > 3", "off": True}], applies_to=EVERYWHERE)
        before = http.get("/policies/kept").json()
        assert before["in_force"][0]["demand"] == "off"
    with (
        serving(settings) as url,
        httpx.Client(auth=OWN_TOKEN, base_url=url + API, trust_env=False, verify=False, timeout=60) as http,
    ):
        assert http.get("/policies/kept").json() == before
        assert put(http, "kept", prefer=EAST)["version"] == 2
