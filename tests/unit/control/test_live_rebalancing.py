"""Rebalancing on a live control plane: services go from the one node they could use to the others."""

from pathlib import Path
from typing import Any

from tests.patience import wait_for
from tests.unit.api.server import serving, settings_in

from dovetail.client import Client

WEB: dict[str, Any] = {
    "name": "web",
    "replicas": 4,
    "resources": {"cpu": 2, "memory": "7GB"},
    "update": {"drain": "0s"},
}


def test_replicas_move_when_their_nodes_take_work_again_and_moves_count_when_they_are_made(tmp_path: Path) -> None:
    with serving(settings_in(tmp_path)) as url, Client(url) as client:
        first, *others = sorted(row["name"] for row in client.nodes())
        for name in others:
            client.cordon(name)
        client.apply(WEB)
        wait_for(lambda: client.service("web")["ready"] == 4)
        assert {one["node"] for one in client.service("web")["items"]} == {first}
        assert client.rebalance()["done"] == []  # nowhere to go
        for name in others:
            client.uncordon(name)
        wait_for(lambda: client.rebalancing()["proposed"], "moves pay, once the service is whole")
        assert client.rebalancing()["done"] == []  # a look moves nothing
        asked = client.rebalance()["proposed"]
        wait_for(lambda: len(client.rebalancing()["done"]) >= len(asked), "the moves are made")
        moved = {one["name"]: one["target"] for one in client.rebalancing()["done"]}
        for name, target in moved.items():
            assert client.tasks(name)[0]["node"] == target
        assert first not in moved.values()
