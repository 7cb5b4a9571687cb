"""A restart of the control plane in the middle of the conversation with a registered node."""

from pathlib import Path

from tests.patience import wait_for
from tests.unit.api.server import serving, settings_in

from dovetail.client import Client

WORK = {"name": "work", "node_selector": {"place": "far"}}
NODE = {"name": "far", "capacity": {"cpu": 4}, "labels": {"place": "far"}}


def begun(client: Client) -> str:
    """The key of work that runs on a registered node."""
    client.register_node(NODE)
    client.submit(WORK)
    [order] = wait_for(lambda: client.heartbeat("far")["run"])
    client.heartbeat("far", tasks=[{"key": order["key"], "state": "running"}])
    wait_for(lambda: client.workload("work")["state"] == "running")
    return order["key"]


def test_work_goes_on_running_across_a_restart(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    with serving(settings) as url, Client(url) as client:
        key = begun(client)
    with serving(settings) as url, Client(url) as client:
        assert client.heartbeat("far", tasks=[{"key": key, "state": "running"}])["run"] == []
        assert client.workload("work")["state"] == "running"
        client.heartbeat("far", tasks=[{"key": key, "state": "finished", "exit_code": 0}])
        wait_for(lambda: client.workload("work")["state"] == "succeeded")
        assert client.heartbeat("far")["run"] == []


def test_an_order_that_the_node_never_saw_is_repeated_after_a_restart(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    with serving(settings) as url, Client(url) as client:
        client.register_node(NODE)
        client.submit(WORK)
        wait_for(lambda: client.tasks("work")[0]["state"] == "bound")
    with serving(settings) as url, Client(url) as client:
        [order] = wait_for(lambda: client.heartbeat("far")["run"])
        assert order["name"] == "work"


def test_a_stop_that_the_node_has_not_confirmed_is_repeated_after_a_restart(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    with serving(settings) as url, Client(url) as client:
        key = begun(client)
        client.cancel("work")
        assert wait_for(lambda: client.heartbeat("far")["stop"]) == [key]
    with serving(settings) as url, Client(url) as client:
        assert wait_for(lambda: client.heartbeat("far")["stop"]) == [key]
        assert client.heartbeat("far")["run"] == []
        client.heartbeat("far", tasks=[{"key": key, "state": "finished"}])
        wait_for(lambda: client.workload("work")["state"] == "cancelled")
