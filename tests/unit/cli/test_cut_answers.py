"""Whatever a command leaves out of its answer, it says how to get; and following that advice gets it."""

import json
from collections.abc import Iterator

import pytest
from click.testing import CliRunner
from tests.patience import wait_for
from tests.unit.api.server import serving, settings_in

from dovetail.cli.main import app
from dovetail.client import Client

NODES, WAITING = 70, 60


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    group = {"prefix": "n", "count": NODES, "capacity": {"cpu": 2, "memory": "1GiB"}, "labels": {"zone": "a"}}
    backends = {"sim": {"kind": "simulated", "forever": True, "groups": [group]}}
    with serving(settings_in(tmp_path_factory.mktemp("data"), backends=backends)) as found:
        with Client(found) as client:
            wait_for(lambda: len(client.nodes()) == NODES)
            client.submit([{"name": f"big-{i}", "resources": {"cpu": 500}} for i in range(WAITING)])
            wait_for(lambda: client.queue_page(limit=1)["total"] == WAITING)
        yield found


def answer(url: str, *words: str) -> list[str]:
    result = CliRunner().invoke(app, [*words, "--url", url], env={"COLUMNS": "80"})
    assert result.exit_code in (0, 1), result.output
    return result.stdout.splitlines()


def data(url: str, *words: str) -> object:
    return json.loads("\n".join(answer(url, *words, "-o", "json")))


def test_capacity_lists_some_nodes_and_wide_lists_all(url: str) -> None:
    lines = answer(url, "capacity", "--cpu", "1")
    assert lines[0].startswith(f"{2 * NODES} more of these fit, on {NODES} nodes")
    assert lines[-1] == "and 50 more nodes; -o wide lists them"
    assert sum(line.startswith("n-") for line in answer(url, "capacity", "--cpu", "1", "-o", "wide")) == NODES
    found = data(url, "capacity", "--cpu", "1")
    assert isinstance(found, dict)
    assert len(found["by_node"]) == NODES


def test_the_queue_lists_the_first_and_the_limit_that_it_names_lists_all(url: str) -> None:
    lines = answer(url, "queue")
    assert lines[0].startswith(f"the first 50 of {WAITING} workloads")
    assert lines[-1] == f"and 10 more workloads; --limit {WAITING} lists them"
    everything = answer(url, "queue", "--limit", str(WAITING))
    assert sum(" big-" in line for line in everything) == WAITING
    assert "more workloads" not in everything[-1]
    assert sum(" big-" in line for line in answer(url, "queue", "-o", "wide")) == WAITING
    found = data(url, "queue")
    assert isinstance(found, list)
    assert len(found) == WAITING


def test_top_counts_everything_that_waits_and_prints_all_of_it_as_data(url: str) -> None:
    lines = answer(url, "top", "--once")
    first = sum(" big-" in line for line in lines)
    assert f"the first {first} of {WAITING} workloads that wait; dovetail queue lists them" in lines
    found = data(url, "top")
    assert isinstance(found, dict)
    assert len(found["queue"]) == found["waiting"] == WAITING


def test_nodes_that_do_not_satisfy_an_expression_are_all_listed_when_wide(url: str) -> None:
    check = ("constraint", "check", 'node.labels.zone == "b"')
    assert answer(url, *check)[-1] == "and 65 more nodes; -o wide lists them"
    assert sum(line.startswith("n-") for line in answer(url, *check, "-o", "wide")) == NODES


def test_nodes_that_the_tree_leaves_out_are_drawn_when_asked_for(url: str) -> None:
    assert answer(url, "topology")[-1] == f"{NODES} nodes not drawn; --nodes draws them"
    assert sum("── n-" in line for line in answer(url, "topology", "--nodes")) == NODES
