"""Fragmentation over HTTP and through the client."""

import httpx

from dovetail.client import Client


def test_it_tells_what_is_free_and_what_typical_work_could_use(http: httpx.Client, url: str) -> None:
    found = http.get("/fragmentation").json()
    assert found["cluster"] == {
        "level": "cluster",
        "name": "cluster",
        "gpus": 8.0,
        "free_gpus": 8.0,
        "unusable_gpus": 0.0,
        "useless_gpus": 0.0,
    }
    assert [(one["level"], one["name"], one["gpus"]) for one in found["domains"]] == [("zone", "east", 8.0)]
    assert found["tasks_seen"] == 0
    assert [(one["gpu"], one["cpu"], one["tasks"]) for one in found["typical"]] == [(1.0, 4.0, 8)]
    assert found["defragmentation"] == {"estimate": True, "won_gpus": 0.0, "moves": 0, "tried": 0, "movable": 0}
    with Client(url) as client:
        assert client.fragmentation() == found


def test_work_that_came_shows_as_typical(http: httpx.Client) -> None:
    work = {"name": "many", "replicas": 40, "resources": {"cpu": 1, "gpu": 2}}
    assert http.post("/workloads", json=work).status_code == 201
    found = http.get("/fragmentation").json()
    assert found["tasks_seen"] == 40
    assert [(one["gpu"], one["share"]) for one in found["typical"]] == [(2.0, 1.0)]
