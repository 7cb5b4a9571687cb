"""One fabric for all tests of this folder: four leaves with two hosts each below two spines, and an agent on each host.

Tests that change wires, cables or agents leave them as they were.
"""

from collections.abc import Iterator

import pytest
from tests.servers.fabric.cluster import FabricCluster
from tests.servers.fabric.fabric import Fabric
from tests.servers.fabric.namespaces import why_not

SWITCHES = {
    "core": None,
    "spine-1": "core",
    "spine-2": "core",
    "leaf-1": "spine-1",
    "leaf-2": "spine-1",
    "leaf-3": "spine-2",
    "leaf-4": "spine-2",
}
#: Of the wire from each switch to the one above it: no two leaves are equally far from a third.
DELAYS_MS = {"leaf-1": 1.0, "leaf-2": 2.0, "leaf-3": 4.0, "leaf-4": 10.0, "spine-1": 8.0, "spine-2": 8.0}
HOSTS = {f"{letter}{number}": f"leaf-{'abcd'.index(letter) + 1}" for letter in "abcd" for number in (1, 2)}
#: Of the cables of hosts; below what a wire carries, which depends on how busy this machine is.
MBIT, SLOW_HOST, SLOW_MBIT = 100, "b2", 8
#: On which the agent of each host answers for names of services.
DNS_PORT = 5353
MEASURING = {"probe_every": "1s", "publish_every": "100ms", "bandwidth_every": "5s", "budget": "10MB"}


@pytest.fixture(scope="session")
def fabric() -> Iterator[Fabric]:
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    with Fabric(SWITCHES, HOSTS, control_at="core") as found:
        for switch, delay_ms in DELAYS_MS.items():
            found.set_wire(switch, delay_ms)
        for host in HOSTS:
            found.limit_rate(host, SLOW_MBIT if host == SLOW_HOST else MBIT)
        yield found


@pytest.fixture(scope="session")
def cluster(fabric: Fabric, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FabricCluster]:
    settings = {
        "subsystems": {"network": MEASURING, "rebalancing": {"enabled": False}},
        "loop": {"heartbeat_timeout": "6s"},
        "scheduling": {"recovery": {"lost_after": "30s"}},
    }
    names = {"dns": {"listen": f"127.0.0.1:{DNS_PORT}", "ttl": "0s"}}
    with FabricCluster(fabric, tmp_path_factory.mktemp("cluster"), settings, names) as found:
        yield found
