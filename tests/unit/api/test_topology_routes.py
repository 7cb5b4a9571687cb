"""The network over HTTP: topologies in several formats, domains, distances one by one and as tables."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.servers.own_token import OWN_TOKEN
from tests.unit.api.server import API, problem_in, serving, settings_in

LEVELS = [
    {"name": "spine", "bandwidth": "1600Gbps", "latency": "5us"},
    {"name": "leaf", "bandwidth": "800Gbps", "latency": "2us"},
]
NET = {
    "levels": LEVELS,
    "domains": {"leaf": {"l1": "node-[1-2]", "l2": "node-[3-5]"}, "spine": {"s1": ["l1", "l2"]}},
}


@pytest.fixture(autouse=True)
def clean(http: httpx.Client) -> Iterator[None]:
    yield
    assert http.delete("/topology").status_code == 204
    assert http.delete("/distances").status_code == 200


def put(http: httpx.Client, topology: dict[str, Any] = NET) -> dict[str, Any]:
    answer = http.put("/topology", json=topology)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_without_a_description_the_labels_of_nodes_are_the_levels(http: httpx.Client) -> None:
    found = http.get("/topology").json()
    assert found["described"] is False
    assert [(level["name"], level["domains"], level["outside"]) for level in found["levels"]] == [("zone", 1, 0)]


def test_a_topology_that_was_set_is_shown_with_what_it_makes_of_the_nodes(http: httpx.Client) -> None:
    found = put(http)
    assert found["described"] is True
    assert [(level["name"], level["bandwidth"], level["domains"]) for level in found["levels"]] == [
        ("spine", "1600Gbps", 1),
        ("leaf", "800Gbps", 2),
    ]
    assert (found["strangers"], found["some_strangers"]) == (1, ["node-5"])
    assert http.get("/topology").json() == found
    assert http.get("/nodes/node-1").json()["labels"]["leaf"] == "l1"
    assert "leaf" not in http.get("/nodes/node-1").json()["definition"]["labels"]


def test_domains_tell_what_they_have_left_and_how_large_a_gang_fits(http: httpx.Client) -> None:
    put(http)
    rows = http.get("/topology/domains", params={"level": "leaf", "gpus": 2}).json()["items"]
    assert [(row["name"], row["around"], row["nodes"], row["whole_gpus"], row["largest_gang"]) for row in rows] == [
        ("l1", {"spine": "s1"}, 2, 4, 2),
        ("l2", {"spine": "s1"}, 2, 4, 2),
    ]
    assert [row["level"] for row in http.get("/topology/domains").json()["items"]] == ["spine", "leaf", "leaf"]


def test_a_level_that_nobody_is_in_is_not_found_and_a_bad_count_is_refused(http: httpx.Client) -> None:
    problem = problem_in(http.get("/topology/domains", params={"level": "zoen"}), 404)
    assert "Did you mean 'zone'?" in problem["detail"]
    problem = problem_in(http.get("/topology/domains", params={"gpus": "many"}), 422)
    assert problem["errors"][0]["field"] == "gpus"


def test_other_formats_are_read_as_text(http: httpx.Client) -> None:
    slurm = "SwitchName=l1 Nodes=node-[1-4]\n"
    found = http.put("/topology", params={"format": "slurm"}, content=slurm).json()
    assert [level["name"] for level in found["levels"]] == ["leaf"]
    problem = problem_in(http.put("/topology", params={"format": "slurm"}, content="SwitchName=l1"), 422)
    assert problem["errors"][0]["line"] == 1
    links = "from,to,bandwidth\nnode-1,leaf1,100Gbps\nnode-2,leaf1,100Gbps\n"
    found = http.put("/topology", params={"format": "csv"}, content=links).json()
    assert (found["links"], found["switches"]) == (2, 1)


def test_a_topology_that_makes_no_sense_changes_nothing(http: httpx.Client) -> None:
    put(http)
    problem = problem_in(http.put("/topology", json={"domains": {"leaf": {"l1": ["node-1"]}}}), 422)
    assert "is not among the levels" in problem["detail"]
    assert http.get("/topology").json()["described"] is True


# --- distances -------------------------------------------------------------------------------------------------


def pair(http: httpx.Client, start: str, end: str) -> dict[str, Any]:
    found: dict[str, Any] = http.get("/distances", params={"from": start, "to": end}).json()
    return found


def test_a_distance_is_told_with_the_way_between(http: httpx.Client) -> None:
    put(http)
    found = pair(http, "node-1", "node-2")
    assert (found["distance"], found["level"], found["by_hand"]) == (33.333, "leaf", False)
    assert found["path"] == {"hops": 2, "latency_us": 2.0, "mbps": 100_000, "headroom_mbps": 100_000, "loss": 0}
    assert pair(http, "node-1", "node-1")["distance"] == 0


def test_distances_are_set_in_both_directions_and_taken_back(http: httpx.Client) -> None:
    items = [{"from": "node-1", "to": "node-2", "distance": 25}, {"from": "node-1", "to": "node-3", "distance": 1.5}]
    assert http.put("/distances", json={"items": items}).json() == {"set": 2}
    assert pair(http, "node-2", "node-1")["distance"] == 25
    assert pair(http, "node-2", "node-1")["by_hand"] is True
    assert http.get("/distances").json()["items"] == items
    assert http.delete("/distances", params={"from": "node-3", "to": "node-1"}).json() == {"cleared": 1}
    problem_in(http.delete("/distances", params={"from": "node-3", "to": "node-1"}), 404)
    assert http.delete("/distances").json() == {"cleared": 1}


def test_a_table_that_is_exported_can_be_imported(http: httpx.Client) -> None:
    table = "from,to,distance\nnode-1,node-2,25\nnode-1,node-3,1.5\n"
    assert http.put("/distances", content=table, headers={"Content-Type": "text/csv"}).json() == {"set": 2}
    answer = http.get("/distances", params={"format": "csv"})
    assert (answer.text, answer.headers["content-type"]) == (table, "text/csv; charset=utf-8")


@pytest.mark.parametrize(
    ("table", "line", "words"),
    [
        ("a,b\n", 1, "the header is from,to,distance"),
        ("from,to,distance\nnode-1,node-2,far\n", 2, "number"),
        ("from,to,distance\nnode-1,node-2,101\n", 2, "100"),
        ("from,to,distance\nnode-1,node-1,1\n", 2, "0 from itself"),
        ("from,to,distance\nnode-1,node-2,1\nnode-2,node-1,2\n", 3, "are already in line 2"),
    ],
)
def test_a_table_with_a_mistake_is_refused_with_its_line(http: httpx.Client, table: str, line: int, words: str) -> None:
    answer = http.put("/distances", content=table, headers={"Content-Type": "text/csv"})
    problem = problem_in(answer, 422)
    assert problem["errors"][0]["line"] == line
    assert words in problem["errors"][0]["message"]
    assert http.get("/distances").json()["items"] == []


def test_distances_name_nodes_that_are_known(http: httpx.Client) -> None:
    problem = problem_in(
        http.put("/distances", json={"items": [{"from": "node-1", "to": "nobody", "distance": 1}]}), 404
    )
    assert "'nobody'" in problem["detail"]
    problem_in(http.get("/distances", params={"from": "node-1"}), 422)
    put(http)  # node-5 is described there, and may come
    items = [{"from": "node-1", "to": "node-5", "distance": 1}]
    assert http.put("/distances", json={"items": items}).json() == {"set": 1}
    assert (
        "no node of that name has joined"
        in problem_in(http.get("/distances", params={"from": "node-1", "to": "node-5"}), 404)["detail"]
    )


def test_the_file_that_settings_name_is_read_at_every_start(tmp_path: Path) -> None:
    described = tmp_path / "topology.conf"
    described.write_text("SwitchName=l1 Nodes=node-[1-4]\n")
    settings = settings_in(tmp_path / "data", topology=str(described))
    for leaf in ("l1", "l9"):
        described.write_text(f"SwitchName={leaf} Nodes=node-[1-4]\n")
        with (
            serving(settings) as url,
            httpx.Client(auth=OWN_TOKEN, base_url=url + API, trust_env=False, verify=False) as http,
        ):
            (row,) = http.get("/topology/domains").json()["items"]
            assert (row["name"], row["nodes"]) == (leaf, 4)


def test_what_was_set_is_there_after_a_restart(tmp_path: Path) -> None:
    settings = settings_in(tmp_path / "data")
    with (
        serving(settings) as url,
        httpx.Client(auth=OWN_TOKEN, base_url=url + API, trust_env=False, verify=False) as http,
    ):
        before = put(http)
        http.put("/distances", json={"items": [{"from": "node-1", "to": "node-4", "distance": 3}]})
    with (
        serving(settings) as url,
        httpx.Client(auth=OWN_TOKEN, base_url=url + API, trust_env=False, verify=False) as http,
    ):
        assert http.get("/topology").json() == before
        assert pair(http, "node-4", "node-1")["distance"] == 3
