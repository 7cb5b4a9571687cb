"""A plan of a gang says what its place means for its communication, and so does the decision once it runs."""

from typing import Any

import httpx
from tests.unit.api.server import in_state, submitted


def test_a_plan_of_a_gang_on_several_nodes_says_how_long_an_exchange_takes(http: httpx.Client) -> None:
    gang = {"name": "gang", "replicas": 3, "gang": {"min": 3}, "resources": {"gpu": 2}}
    [plan] = http.post("/plan", json=gang).json()["plans"]
    talk = plan["communication"]
    assert (talk["ranks"], talk["nodes"], talk["size_bytes"]) == (3, 3, 2**30)
    assert talk["all_reduce_s"] >= talk["all_reduce_best_s"] > 0
    assert talk["all_to_all_s"] >= talk["all_to_all_best_s"] > 0
    assert talk["algorithm"] in ("ring", "tree")
    assert talk["message"].startswith("all-reduce of 1GiB: about ")


def test_a_plan_of_anything_else_says_nothing_of_it(http: httpx.Client) -> None:
    on_one = {
        "name": "small",
        "replicas": 2,
        "gang": {"min": 2},
        "resources": {"gpu": 1},
        "topology": {"required": "host"},
    }
    loose = {"name": "loose", "replicas": 3, "resources": {"gpu": 2}}
    for work in (on_one, loose):
        [plan] = http.post("/plan", json=work).json()["plans"]
        assert plan["unplaced"] == 0
        assert plan["communication"] is None


def test_a_gang_that_runs_is_explained_with_its_strategy_and_its_exchange_as_it_was_planned(http: httpx.Client) -> None:
    topology = {"required": "zone", "strategy": "bandwidth"}
    gang: dict[str, Any] = {"name": "gang", "replicas": 2, "gang": {"min": 2}, "resources": {"gpu": 2}}
    gang["topology"] = topology
    [plan] = http.post("/plan", json=gang).json()["plans"]
    planned = plan["tasks"][0]["explanation"]["notes"]
    submitted(http, gang)
    in_state(http, "gang", "running")
    noted = http.get("/workloads/gang/explain").json()["decision"]["explanation"]["notes"]
    assert set(planned) < set(noted)
    assert "strategy bandwidth: no other zone holds all of it" in noted
    assert plan["communication"]["message"] in noted
