"""A real server with a cloud as a backend is killed around launches: no second machine, and in the end none at all.

The clouds are fakes of ours at the wire, which lose answers and show new machines late; real agents join.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.contract.backends.azure.scene import azure_settings, azure_wire
from tests.contract.backends.gcp.scene import gcp_settings, gcp_wire
from tests.e2e.server_process import ServerProcess
from tests.examples import times
from tests.patience import wait_for
from tests.servers.azure_wire import SECRET, AzureWire
from tests.servers.booted_machines import booted_machines
from tests.servers.gcp_wire import GcpWire

from dovetail.client import Client

pytestmark = pytest.mark.needs_server
KILLS = 3
OPTIONS: dict[str, Any] = {"poll": "200ms", "idle": "1s", "reap_after": "2s", "refresh": "1h"}


@contextmanager
def azure(folder: Path) -> Iterator[tuple[AzureWire, dict[str, Any]]]:
    with azure_wire(folder) as (wire, ca):
        secret = {"client_secret": SECRET}
        yield wire, {"kind": "azure", **azure_settings(wire, ca).model_dump(mode="json", exclude_unset=True), **secret}


@contextmanager
def gcp(folder: Path) -> Iterator[tuple[GcpWire, dict[str, Any]]]:
    with gcp_wire(folder) as (wire, key):
        yield wire, {"kind": "gcp", **gcp_settings(wire, key).model_dump(mode="json", exclude_unset=True)}


def has_succeeded(client: Client, name: str) -> bool:
    return client.workload(name)["state"] == "succeeded"


@pytest.mark.parametrize("cloud", [azure, gcp])
def test_a_server_that_is_killed_around_launches_leaves_neither_a_second_machine_nor_an_orphan(
    cloud: Callable[[Path], Any], tmp_path: Path
) -> None:
    random = Random(1)
    with cloud(tmp_path) as (wire, entry), booted_machines(wire, tmp_path / "machines") as machines:
        server = ServerProcess(tmp_path, {"backends": {"cloud": entry | OPTIONS}})
        machines.join(server.url)
        wire.faults.list_lag_s, wire.provision_s = 0.3, 0.3
        names = [f"work-{number}" for number in range(times(KILLS))]
        with server, Client(server.url) as client:
            for name in names:
                wire.faults.lost = random.randrange(2)
                client.submit({"name": name, "resources": {"cpu": 3}, "run": {"command": ["echo", name]}})
                time.sleep(random.uniform(0.0, 1.0))
                server.kill()
                server.start()
            for name in names:
                wait_for(partial(has_succeeded, client, name), f"the end of {name}")
            wait_for(lambda: not wire.running(), "the end of the last machine")
            wait_for(lambda: not any(wire.left().values() if isinstance(wire, AzureWire) else wire.left()), "no part")
        assert wire.doubled == []
        # A machine is launched for each of them at most: one that was idle may have been used again.
        assert len(wire.created) == len(set(wire.created)) <= len(names)
