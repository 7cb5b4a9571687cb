"""Lists on the server: search, order, pages and counts, with 5,000 workloads; the map and decisions beside them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import orjson
import pytest
from tests.patience import wait_for
from tests.unit.api.server import serving, settings_in

from dovetail.client import Client, DovetailError

MANY = 5000
PRIORITIES = ("critical", "high", "medium", "low", "batch")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    queues: dict[str, Any] = {"a": {"queues": {"deep": {}}}, "b": {}}
    settings = settings_in(tmp_path_factory.mktemp("lists"), scheduling={"queues": queues})
    with serving(settings) as url, Client(url, timeout_s=120) as found:
        for first in range(0, MANY, 500):
            found.submit(
                [
                    {
                        "name": f"job-{i:04}",
                        "namespace": f"team-{i % 3}",
                        "queue": ("a/deep", "b")[i % 2],
                        "priority": PRIORITIES[i % 5],
                        "resources": {"cpu": 99 if i >= 10 else "10m"},
                    }
                    for i in range(first, first + 500)
                ]
            )
        wait_for(lambda: found.workloads(state="running", counts=True)["total"] == 10)
        decided: list[int] = [-1]

        def settled() -> bool:
            decided.append(found.summary()["decisions_total"])
            return decided[-1] == decided[-2]

        wait_for(settled, "no more decisions", every_s=0.3)
        yield found


def test_total_and_counts_by_state_go_with_every_page(client: Client) -> None:
    page = client.workloads(limit=5, counts=True)
    assert page["total"] == MANY
    assert page["counts"] is not None
    assert (page["counts"]["pending"], page["counts"]["running"], page["counts"]["failed"]) == (MANY - 10, 10, 0)
    one = client.workloads(state=["running", "failed"], namespace="team-0", counts=True)
    assert one["total"] == len(one["items"]) == 4
    assert one["counts"] is not None
    assert one["counts"]["pending"] > 1000, "of the others that the filter would find"
    assert "total" not in client.workloads(limit=5), "who does not ask for it pays nothing"


def test_pages_of_a_sorted_list_join_up(client: Client) -> None:
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = client.workloads(sort="name", name="job-1", limit=400, cursor=cursor)
        seen += [row["name"] for row in page["items"]]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert seen == [f"job-1{i:03}" for i in range(1000)]
    middle = client.workloads(sort="-name", name="job-1", limit=2, offset=500)["items"]
    assert [row["name"] for row in middle] == ["job-1499", "job-1498"]


def test_orders(client: Client) -> None:
    def first(sort: str, column: str, **where: str) -> object:
        return client.workloads(sort=sort, limit=1, **where)["items"][0][column]  # type: ignore[arg-type, literal-required]

    assert first("submitted", "name") == "job-0000"
    assert first("state", "state") == "pending"
    assert first("-state", "state") == "running"
    assert (first("priority", "priority"), first("-priority", "priority")) == ("critical", "batch")
    assert first("-wait", "state") == "pending"
    assert first("wait", "state") == "running"
    assert first("name", "queue", queue="a") == "a/deep"
    with pytest.raises(DovetailError, match="sort"):
        client.workloads(sort="colour")
    with pytest.raises(DovetailError, match="cursor that a page of this order gave"):
        client.workloads(sort="name", cursor="12")
    with pytest.raises(DovetailError, match="Did you mean 'running'"):
        client.workloads(state="runing")


def test_lists_of_nodes_have_pages_too(client: Client) -> None:
    page = client.node_page(search="NODE", limit=3)
    assert (page["total"], [row["name"] for row in page["items"]]) == (4, ["node-1", "node-2", "node-3"])
    assert page["counts"]["online"] == 4
    assert [row["name"] for row in client.node_page(limit=3, offset=3)["items"]] == ["node-4"]
    assert client.node_page(status="offline")["items"] == []
    with pytest.raises(DovetailError, match="Did you mean 'offline'"):
        client.node_page(status="ofline")
    assert len(client.nodes()) == 4


def test_the_latest_decisions_are_in_sentences_newest_first(client: Client) -> None:
    rows = client.recent_decisions(limit=100)
    assert len(rows) == 100
    assert [row["at"] for row in rows] == sorted((row["at"] for row in rows), reverse=True)
    assert {row["outcome"] for row in rows} <= {"placed", "waits", "preempts"}
    waits = next(row for row in rows if row["outcome"] == "waits")
    assert "cpu" in waits["why"]
    client.submit({"name": "pair", "replicas": 2, "resources": {"cpu": "10m"}, "priority": "critical"})
    wait_for(lambda: client.workload("pair")["state"] == "running")
    pair = next(row for row in client.recent_decisions(limit=200) if row["name"] == "pair")
    assert (pair["outcome"], pair["tasks"]) == ("placed", 2)
    assert pair["nodes"]
    assert pair["took_ms"] is not None
    assert pair["score"] is not None
    client.cancel("pair")


def test_decisions_from_before_a_restart_are_told(tmp_path: Path) -> None:
    with serving(settings_in(tmp_path)) as url, Client(url) as client:
        client.submit({"name": "early"})
        wait_for(lambda: client.workload("early")["state"] == "running")
    with serving(settings_in(tmp_path)) as url, Client(url) as client:
        (row,) = client.recent_decisions()
        assert (row["name"], row["outcome"], row["took_ms"]) == ("early", "placed", None)


def test_the_map_of_1250_nodes_is_small(tmp_path: Path) -> None:
    fabric: dict[str, Any] = {
        "prefix": "gpu",
        "spines": 5,
        "leaves_per_spine": 10,
        "nodes_per_leaf": 25,
        "cpu": 128,
        "memory": "2TiB",
    }
    fabric["gpus"] = [{"count": 8, "model": "H200", "memory": "141GiB"}]
    backends = {"lab": {"kind": "simulated", "forever": True, "leaf_spine": fabric}}
    with serving(settings_in(tmp_path, backends=backends)) as url, Client(url) as client:
        work = {"name": "shares", "replicas": 3000, "resources": {"cpu": 1, "gpu": "700m"}}
        client.submit(work)
        wait_for(lambda: client.workload("shares")["tasks"]["active"] == 3000)
        found = client.topology_map()
        assert len(found["nodes"]["name"]) == 1250
        assert len(orjson.dumps(found)) < 100_000
        assert all(len(column) == 1250 for column in cast("dict[str, list[Any]]", found["nodes"]).values())
        assert {len(one) for one in found["nodes"]["gpu_used"]} == {8}
        client.cordon(found["nodes"]["name"][7])
        changed = client.topology_map(after=found["version"])
        assert (changed["full"], changed["nodes"]["name"]) == (False, [found["nodes"]["name"][7]])
        assert changed["legend"][changed["nodes"]["health"][0]] == "cordoned"
        assert client.topology_map(after="1-1")["full"], "of another server"
        where = client.topology_map(workload="shares")["workload"]
        assert sum(where["tasks"]) == 3000
