"""Affinity of services to nodes over HTTP, and expressions that are only checked."""

from typing import Any

import httpx
import pytest
from tests.unit.api.server import in_state, problem_in, submitted


def put(http: httpx.Client, path: str, **body: Any) -> dict[str, Any]:
    answer = http.put(f"/services/{path}", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_service_must_be_on_its_nodes_if_that_is_required(http: httpx.Client) -> None:
    made = put(http, "cart/affinity", nodes=["node-3"], required=True)
    assert (made["policy"], made["nodes"], made["required"]) == ("affinity.default.cart", ["node-3"], True)
    submitted(http, {"name": "w1", "service": "cart", "run": {"simulate": {}}})
    in_state(http, "w1", "running")
    (task,) = http.get("/workloads/w1/tasks").json()["items"]
    assert task["node"] == "node-3"
    policy = http.get("/policies/affinity.default.cart").json()
    assert policy["definition"]["require"] == 'node.name in ["node-3"]'
    assert policy["applies_to"]["services"] == ["default/cart"]
    assert http.get("/services/cart/affinity").json()["workloads"] == 1


def test_a_service_keeps_off_the_nodes_that_it_must_not_be_on(http: httpx.Client) -> None:
    made = put(http, "mail/antiaffinity", nodes=["node-1", "node-2", "node-4"], required=True)
    assert made["policy"] == "antiaffinity.default.mail"
    submitted(http, {"name": "w2", "service": "mail", "run": {"simulate": {}}})
    in_state(http, "w2", "running")
    (task,) = http.get("/workloads/w2/tasks").json()["items"]
    assert task["node"] == "node-3"
    changed = put(http, "mail/antiaffinity", nodes=["node-3"], required=True)
    assert [row["node"] for row in changed["violations"]] == ["node-3"]


def test_without_required_nodes_are_preferred_and_avoided(http: httpx.Client) -> None:
    put(http, "web/affinity", nodes=["node-1", "node-2"])
    put(http, "web/antiaffinity", nodes=["node-3"])
    likes, shuns = (
        http.get(f"/policies/{side}.default.web").json()["definition"] for side in ("affinity", "antiaffinity")
    )
    assert (likes["prefer"], shuns["avoid"]) == ('node.name in ["node-1", "node-2"]', 'node.name in ["node-3"]')
    rows = [row for row in http.get("/affinity").json()["items"] if row["service"] == "web"]
    assert [(row["kind"], row["nodes"]) for row in rows] == [
        ("affinity", ["node-1", "node-2"]),
        ("antiaffinity", ["node-3"]),
    ]


def test_nodes_that_are_not_there_are_kept_with_a_warning(http: httpx.Client) -> None:
    made = put(http, "later/affinity?namespace=shop", nodes=["node-1", "mars"])
    assert made["warnings"] == ["no node is named 'mars' now"]
    assert (made["namespace"], made["nodes"]) == ("shop", ["node-1", "mars"])


def test_a_rule_is_cleared_and_then_is_not_there(http: httpx.Client) -> None:
    put(http, "brief/affinity", nodes=["node-1"])
    assert http.delete("/services/brief/affinity").status_code == 204
    problem_in(http.get("/services/brief/affinity"), 404)
    problem_in(http.delete("/services/brief/affinity"), 404)
    problem_in(http.get("/services/brief/affinity", params={"namespace": "shop"}), 404)


def test_two_services_whose_names_run_together_do_not_overwrite_each_other(http: httpx.Client) -> None:
    put(http, "b.c/affinity?namespace=a", nodes=["node-1"])
    answer = http.put("/services/c/affinity?namespace=a.b", json={"nodes": ["node-2"]})
    assert "is there already" in problem_in(answer, 409)["detail"]
    assert http.get("/services/b.c/affinity?namespace=a").json()["nodes"] == ["node-1"]


def test_a_policy_that_only_looks_like_a_rule_is_not_taken_for_one(http: httpx.Client) -> None:
    for name, text in (("affinity.x.y", "node.load < 0.5"), ("affinity.x.z", "node.name in [")):
        http.put(f"/policies/{name}", json={"prefer": text, "applies_to": {"services": [name[9:].replace(".", "/")]}})
    assert http.get("/affinity").status_code == 200
    problem_in(http.get("/services/y/affinity?namespace=x"), 404)


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("cart/affinity", {"nodes": []}, "nodes"),
        ("cart/affinity", {}, "nodes"),
        ("cart/affinity", {"nodes": ["a b"]}, "nodes[0]"),
        ("a b/affinity", {"nodes": ["n"]}, "service"),
        ("cart/affinity?namespace=a b", {"nodes": ["n"]}, "service"),
        (f"{'s' * 60}/affinity?namespace={'n' * 60}", {"nodes": ["n"]}, "service"),
    ],
)
def test_what_cannot_be_meant_is_named(http: httpx.Client, path: str, body: dict[str, Any], field: str) -> None:
    problem = problem_in(http.put(f"/services/{path}", json=body), 422)
    assert [error["field"] for error in problem["errors"]] == [field]


# --- expressions -----------------------------------------------------------------------------------------------


def checked(http: httpx.Client, expression: Any, **more: Any) -> dict[str, Any]:
    answer = http.post("/constraints/check", json={"expression": expression, **more})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_good_expression_is_counted_over_the_nodes_with_reasons(http: httpx.Client) -> None:
    found = checked(http, 'node.name in ["node-1", "node-2"] && node.labels.zone == "east"')
    assert found["ok"]
    assert found["reads"] == ["labels"] or "labels" in found["reads"]
    assert (found["nodes"]["satisfying"], found["nodes"]["of"]) == (2, 4)
    assert [row["node"] for row in found["nodes"]["failing"]] == ["node-3", "node-4"]
    assert all(row["why"] for row in found["nodes"]["failing"])


def test_text_and_structure_say_the_same(http: httpx.Client) -> None:
    structure = {"left": "node.labels.zone", "operator": "eq", "right": "east"}
    found = checked(http, structure)
    assert found["text"] == 'node.labels.zone == "east"'
    assert found["nodes"]["satisfying"] == 4
    assert checked(http, found["text"])["structure"] == structure


def test_a_bad_expression_is_answered_with_a_caret(http: httpx.Client) -> None:
    found = checked(http, "node.nam == 1")
    assert not found["ok"]
    words, text, caret = found["caret"].splitlines()
    assert found["error"] == words
    assert text[caret.index("^") :].startswith("nam")


@pytest.mark.parametrize("body", [{}, {"expression": 7}, {"expression": ""}, {"expression": "true", "names": "x"}])
def test_what_is_no_question_is_refused(http: httpx.Client, body: dict[str, Any]) -> None:
    problem_in(http.post("/constraints/check", json=body), 422)
