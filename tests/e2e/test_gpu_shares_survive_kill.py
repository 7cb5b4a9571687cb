"""A server that is killed gives nobody else's GPU to anyone: shares stay on their devices, and new ones fit around."""

from pathlib import Path

import pytest
from tests.e2e.server_process import ServerProcess
from tests.patience import wait_for

from dovetail.client import Client

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("cli")]

GPUS = [{"count": 2, "model": "A100", "memory": "40GiB", "uuids": ["GPU-a", "GPU-b"]}, {"count": 1, "model": "T4"}]
SETTINGS = {
    "backends": {
        "local": {
            "kind": "local",
            "node": "here",
            "capacity": {"cpu": 64, "slots": 50},
            "gpus": GPUS,
            "run_as": "server",
        }
    },
    "logging": {"level": "warning"},
}


def test_shares_are_on_the_same_gpus_after_kill_nine(tmp_path: Path) -> None:
    script = f'echo "$CUDA_VISIBLE_DEVICES $NVIDIA_VISIBLE_DEVICES" > {tmp_path}/$DOVETAIL_WORKLOAD; exec sleep 600'
    asked = {"first": 0.6, "second": 0.5, "third": 0.3, "whole": 1}

    def submit(client: Client, name: str, gpu: float) -> None:
        resources = {"cpu": "10m", "gpu": gpu}
        client.submit([{"name": name, "resources": resources, "run": {"command": ["/bin/sh", "-c", script]}}])
        wait_for(lambda: (tmp_path / name).exists() and (tmp_path / name).read_text())

    def devices(client: Client) -> dict[str, list[int]]:
        return {row["name"]: row["devices"] for row in client.node_tasks("here")}

    server = ServerProcess(tmp_path, SETTINGS)
    with server, Client(server.url) as client:
        for name, gpu in asked.items():
            submit(client, name, gpu)
        before = devices(client)
        assert before == {"first": [2], "second": [0], "third": [2], "whole": [1]}
        server.kill()
        server.start()
        wait_for(lambda: client.node("here")["status"] == "online")
        assert devices(client) == before
        assert [gpu["used"] for gpu in client.node("here")["gpus"]] == [500, 1000, 900]
        submit(client, "fourth", 0.4)
        assert devices(client)["fourth"] == [0], "only there is so much left of one GPU"
        seen = {name: (tmp_path / name).read_text().split() for name in (*asked, "fourth")}
        assert seen["first"] == seen["third"] == ["2", "2"], "its UUID is not known"
        assert seen["second"] == seen["fourth"] == ["GPU-a", "GPU-a"]
        assert seen["whole"] == ["GPU-b", "GPU-b"]
        for name in (*asked, "fourth"):
            client.cancel(name)
        wait_for(lambda: not client.node_tasks("here"))
