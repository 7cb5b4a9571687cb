"""Plan, explain, why-not and capacity over HTTP: they answer in sentences and change nothing."""

from typing import Any

import httpx
from tests.patience import wait_for
from tests.unit.api.server import in_state, problem_in, submitted


def test_a_plan_names_nodes_funnel_and_scores_and_changes_nothing(http: httpx.Client) -> None:
    before = http.get("/nodes").json()
    work = [{"name": "fits", "replicas": 3, "resources": {"cpu": 2}}, {"name": "huge", "resources": {"cpu": 500}}]
    fits, huge = http.post("/plan", json=work).json()["plans"]
    assert (fits["placed"], fits["unplaced"], len(fits["tasks"])) == (3, 0, 3)
    assert fits["tasks"][0]["explanation"]["funnel"][-1]["remaining"] == 4
    assert set(fits["tasks"][0]["explanation"]["best"][0]["points"]) == set(fits["tasks"][0]["explanation"]["weights"])
    assert fits["answer"].startswith("All 3 tasks of fits would be placed")
    assert (huge["placed"], huge["unplaced"]) == (0, 1)
    assert "huge would wait" in huge["answer"]
    assert http.get("/nodes").json() == before
    problem_in(http.get("/workloads/fits"), 404)


def test_running_work_is_explained_with_its_decision(http: httpx.Client) -> None:
    submitted(http, {"name": "runs", "resources": {"cpu": 1}})
    in_state(http, "runs", "running")
    found = http.get("/workloads/runs/explain").json()
    assert found["state"] == "running"
    assert found["decision"]["node"] in found["answer"]
    assert found["now"] is None
    assert found["position"] is None
    node = found["decision"]["node"]
    assert "does have a task" in http.get(f"/workloads/runs/why-not/{node}").json()["answer"]


def test_waiting_work_is_explained_with_what_is_short_now(http: httpx.Client) -> None:
    submitted(http, {"name": "waits", "resources": {"gpu": 3}})
    wait_for(lambda: http.get("/workloads/waits").json()["reason"])
    found = http.get("/workloads/waits/explain").json()
    assert found["now"]["shortages"][0]["resource"] == "gpu"
    assert found["position"] == 1
    assert found["answer"].startswith("waits waits, number 1 in the queue: ")
    [queued] = http.get("/queue").json()["items"]
    assert (queued["name"], queued["position"], queued["pending"]) == ("waits", 1, 1)
    why = http.get("/workloads/waits/why-not/node-2").json()
    assert why["refused"][0]["resource"] == "gpu"
    assert why["rank"] is None
    assert "node-2 cannot take waits" in why["answer"]
    http.delete("/workloads/waits")


def test_a_step_of_the_funnel_opens_into_the_nodes_that_it_refuses(http: httpx.Client) -> None:
    submitted(http, {"name": "narrow", "resources": {"gpu": 3}})
    wait_for(lambda: http.get("/workloads/narrow").json()["reason"])
    found = http.get("/workloads/narrow/explain").json()["now"]
    left = found["nodes"]
    for step in found["funnel"]:
        page = http.get(f"/workloads/narrow/refusals/{step['filter']}", params={"limit": 1}).json()
        assert page["total"] == left - step["remaining"], step
        assert len(page["items"]) == min(1, page["total"])
        for row in page["items"]:
            assert row["filter"] == step["filter"]
            against = http.get(f"/workloads/narrow/why-not/{row['node']}").json()["refused"]
            assert row["message"] in [refusal["message"] for refusal in against]
        left = step["remaining"]
    whole = http.get("/workloads/narrow/refusals/resources").json()
    assert len(whole["items"]) == whole["total"] > 1
    second = http.get("/workloads/narrow/refusals/resources", params={"limit": 1, "offset": 1}).json()
    assert whole["items"][1:2] == second["items"]
    problem_in(http.get("/workloads/nobody/refusals/resources"), 404)
    http.delete("/workloads/narrow")


def test_an_editor_is_told_what_is_wrong_without_an_error(http: httpx.Client) -> None:
    text, kind = "name: x\nresources:\n  cpx: 1\n", {"Content-Type": "application/yaml"}
    found = http.post("/plan", params={"complaints": True}, content=text, headers=kind)
    assert found.status_code == 200
    assert found.json()["plans"] == []
    [error] = found.json()["errors"]
    assert (error["line"], error["field"]) == (3, "resources.cpx")
    problem_in(http.post("/plan", content=text, headers=kind), 422)


def test_waiting_work_is_told_what_cannot_be_had_and_what_would_help(http: httpx.Client) -> None:
    submitted(http, {"name": "picky", "resources": {"gpu": 3}, "node_selector": {"zone": "east"}})
    wait_for(lambda: http.get("/workloads/picky").json()["reason"])
    found = http.get("/workloads/picky/explain").json()
    assert found["core"] == [{"requirement": "gpu 3 free", "field": "resources.gpu", "nodes_alone": 0}]
    assert found["core_exact"]
    less = found["suggestions"][0]
    assert less["words"] == "ask for 2 gpu instead of 3"
    assert (less["kind"], less["patch"], less["action"]) == ("resources", {"resources": {"gpu": 2}}, None)
    assert "No node has gpu 3 free. Try: ask for 2 gpu instead of 3." in found["answer"]
    http.delete("/workloads/picky")


def test_a_gang_that_fits_in_part_is_told_how_much_of_it_fits(http: httpx.Client) -> None:
    [plan] = http.post(
        "/plan", json={"name": "wide", "replicas": 6, "resources": {"cpu": 8}, "gang": {"min": 6}}
    ).json()["plans"]
    assert plan["core"] == []
    assert plan["waits_for"].endswith(" of 6 tasks fit at once")  # one node runs work of another test
    assert plan["waits_for"] in plan["answer"]
    assert plan["suggestions"][0]["patch"]


def test_a_plan_that_is_refused_says_what_would_help(http: httpx.Client) -> None:
    work: list[dict[str, Any]] = [{"name": "elsewhere", "node_selector": {"zone": "west"}}, {"name": "fits"}]
    elsewhere, fits = http.post("/plan", json=work).json()["plans"]
    assert [member["field"] for member in elsewhere["core"]] == ["node_selector.zone"]
    assert [one["words"] for one in elsewhere["suggestions"]] == ["allow zone east"]
    assert elsewhere["answer"].endswith("No node has zone=west. Try: allow zone east.")
    assert (fits["core"], fits["suggestions"]) == ([], [])
    patched = work[0] | {"node_selector": {}} | {"node_affinity": elsewhere["suggestions"][0]["patch"]["node_affinity"]}
    assert http.post("/plan", json=patched).json()["plans"][0]["placed"] == 1


def test_finished_work_is_still_explained(http: httpx.Client) -> None:
    submitted(http, {"name": "fails", "run": {"simulate": {"run_time": "1ms", "exit_code": 3}}})
    in_state(http, "fails", "failed")
    found = http.get("/workloads/fails/explain").json()
    assert found["answer"].startswith("fails failed")
    assert found["decision"]["node"]
    assert http.get("/workloads/fails/why-not/node-3").json()["feasible"] == 4


def test_a_node_that_could_take_it_is_told_its_rank(http: httpx.Client) -> None:
    submitted(http, {"name": "ranked", "resources": {"cpu": 1}})
    in_state(http, "ranked", "running")
    found = [http.get(f"/workloads/ranked/why-not/node-{i}").json() for i in range(1, 5)]
    assert sorted(why["rank"] for why in found) == [1, 2, 3, 4]
    assert all(set(why["points"]["scores"]) for why in found)


def test_capacity_counts_what_fits_and_needs_no_name(http: httpx.Client) -> None:
    found = http.post("/capacity", json={"resources": {"memory": "16GB"}}).json()
    assert found["total"] == 8
    assert found["by_node"][0]["fits"] == 2
    assert found["answer"].startswith("8 more of these fit, on 4 nodes")
    none = http.post("/capacity", json={"name": "x", "resources": {"memory": "64GB"}, "replicas": 100_000}).json()
    assert none["total"] == 0
    assert none["answer"].startswith("None of these fits now")


def test_profiles_tell_their_weights_and_which_is_default(http: httpx.Client) -> None:
    found = http.get("/profiles").json()
    balanced = next(profile for profile in found["profiles"] if profile["name"] == "balanced")
    assert found["default"] == "auto"
    assert [profile["name"] for profile in found["profiles"] if profile["default"]] == ["auto"]
    assert balanced["scores"] == {
        "resource_utilisation": 40,
        "load_balance": 30,
        "affinity": 20,
        "network_proximity": 10,
    }
    assert found["schedulers"][0]["name"] == "default"
