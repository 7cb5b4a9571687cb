"""Work on a Slurm cluster through a real server that is killed: arrays, work that waits for work, and retries."""

import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.server_process import ServerProcess
from tests.servers.slurm import SlurmServer

from dovetail.client import Client

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("slurm")]
REPLICAS = 6
PATIENCE_S = 120.0
WORK = """\
name: shards
replicas: {replicas}
resources: {{cpu: 1, memory: 50MiB}}
run: {{command: [/bin/sh, -c, 'echo shards.$DOVETAIL_REPLICA >> {marks}; sleep 2']}}
---
name: merge
after: [{{workload: shards}}]
retries: 1
resources: {{cpu: 1, memory: 50MiB}}
run: {{command: [/bin/sh, -c, 'echo merge.$DOVETAIL_ATTEMPT >> {marks}; [ $DOVETAIL_ATTEMPT = 2 ]']}}
---
name: report
after: [{{workload: merge, condition: finished}}]
resources: {{cpu: 1, memory: 50MiB}}
run: {{command: [/bin/sh, -c, 'echo report >> {marks}']}}
"""


@pytest.mark.parametrize("place", ["slurm", "node"])
def test_replicas_dependencies_and_retries_survive_a_kill(
    slurm_server: SlurmServer, tmp_path: Path, place: str
) -> None:
    marks, runs = tmp_path / "marks", tmp_path / "runs"
    backend = {
        "kind": "slurm",
        "url": f"unix:{slurm_server.socket}",
        "conf": str(slurm_server.settings),
        "folder": str(runs),
        "place": place,
        "partitions": ["all"],
        "array_within_s": 3,
        "jobs_interval_s": 0.2,
        "nodes_interval_s": 0.5,
    }
    with ServerProcess(tmp_path, {"backends": {"hpc": backend}}) as server:
        with Client(server.url) as client:
            client.submit_yaml(WORK.format(replicas=REPLICAS, marks=marks))
            wait_for(marks.exists, "the first to start")
        server.kill()
        server.start()
        with Client(server.url) as client:
            wait_for(lambda: not client.workloads(unfinished=True)["items"], "everything to end")
            states = {found["name"]: found["state"] for found in client.workloads()["items"]}
    assert states == {"shards": "succeeded", "merge": "succeeded", "report": "succeeded"}
    lines = marks.read_text().split()
    shards = [f"shards.{replica}" for replica in range(REPLICAS)]
    assert Counter(lines) == dict.fromkeys([*shards, "merge.1", "merge.2", "report"], 1)
    assert set(lines[:REPLICAS]) == set(shards)
    assert lines[REPLICAS:] == ["merge.1", "merge.2", "report"]
    orders = [json.loads(path.read_text()) for path in runs.glob("1.*/order.json")]
    if place == "slurm":  # one partition is one place
        assert [order["element"] for order in sorted(orders, key=lambda order: order["element"])] == list(
            range(REPLICAS)
        )
        assert len({order["job"] for order in orders}) == 1


def wait_for(holds: Callable[[], bool], what: str) -> None:
    until_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < until_s, f"waited {PATIENCE_S:.0f} s in vain for {what}"
        time.sleep(0.1)


GANG = """\
name: train
replicas: 2
gang: {{min: 2}}
resources: {{cpu: 4, memory: 50MiB}}
run: {{command: [/bin/sh, -c, 'echo $DOVETAIL_REPLICA >> {marks}; until [ -e {marks}.over ]; do sleep 0.2; done']}}
"""


def test_a_gang_begins_whole_although_a_stranger_has_a_node_and_the_server_is_killed(
    slurm_server: SlurmServer, tmp_path: Path
) -> None:
    """The server does not look at nodes again, so it places a task where somebody else's job has come meanwhile."""
    marks = tmp_path / "marks"
    backend = {
        "kind": "slurm",
        "url": f"unix:{slurm_server.socket}",
        "conf": str(slurm_server.settings),
        "folder": str(tmp_path / "runs"),
        "jobs_interval_s": 0.2,
        "nodes_interval_s": 1000,
        "notice_s": 0.5,
    }
    wrapped = ("--cpus-per-task=4", "--mem=10", "--output=/dev/null", "--wrap=sleep 1000")
    strangers: list[str] = []
    with ServerProcess(tmp_path, {"backends": {"hpc": backend}}) as server:
        with Client(server.url) as client:
            wait_for(lambda: len(client.nodes()) == 4, "its only look at the nodes")
        try:
            for node in ("n2", "n3", "n4"):
                said = slurm_server.call("sbatch", "--parsable", f"--nodelist={node}", *wrapped)
                strangers.append(said.strip())
            with Client(server.url) as client:
                client.submit_yaml(GANG.format(marks=marks))
                wait_for(lambda: "start together are ready" in client.workload("train")["message"], "its wait")
                assert client.workload("train")["state"] == "starting"
                assert {task["state"] for task in client.tasks("train")} == {"bound"}
            server.kill()
        finally:
            slurm_server.call("scancel", *strangers)
        wait_for(lambda: marks.exists() and len(marks.read_text().split()) == 2, "both to begin, without the server")
        server.start()
        with Client(server.url) as client:
            wait_for(lambda: {task["state"] for task in client.tasks("train")} == {"running"}, "both to run")
            (tmp_path / "marks.over").touch()
            wait_for(lambda: client.workload("train")["state"] == "succeeded", "its end")
            assert [task["attempt"] for task in client.tasks("train")] == [1, 1]
    assert sorted(marks.read_text().split()) == ["0", "1"]
