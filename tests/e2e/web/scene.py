"""A small cluster with something of everything, for tests of pages and for their pictures."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.e2e.server_process import ServerProcess
from tests.patience import wait_for

from dovetail.client import Client
from dovetail.client.errors import DovetailError
from dovetail.web.page_table import PAGES

HOSTILE = "<img src=x onerror=alert(1)>"
_H200 = [{"count": 8, "model": "H200", "memory": "141GiB"}]
_FABRIC = {"prefix": "gpu", "spines": 2, "leaves_per_spine": 2, "nodes_per_leaf": 4, "racks_per_leaf": 2, "gpus": _H200}
#: 1,250 nodes, 10,000 GPUs.
LARGE_FABRIC = _FABRIC | {"spines": 5, "leaves_per_spine": 5, "nodes_per_leaf": 50, "racks_per_leaf": 5, "zones": 5}
_GPUS = {"kind": "simulated", "forever": True, "leaf_spine": _FABRIC, "observe": {"every": "1s"}}
_CLOUD = {"prefix": "cloud", "count": 4, "capacity": {"cpu": 16, "memory": "64GiB"}}
_HOSTS = {"prefix": "hypervisor", "count": 2, "capacity": {"cpu": 8, "memory": "32GiB"}}
SETTINGS: dict[str, Any] = {
    "backends": {
        "dc1": _GPUS,
        "cloud": {
            "kind": "simulated",
            "forever": True,
            "groups": [_CLOUD | {"offer": {"price_per_hour": 2.4, "currency": "USD"}, "labels": {"disk": "nvme"}}],
        },
        "vms": {
            "kind": "simulated",
            "forever": True,
            "migrates": True,
            "groups": [_HOSTS],
            "vms_of_others": ["legacy"],
        },
    },
    "subsystems": {"cost": {"every": "200ms"}, "trends": {"every": "1s"}},
}


def fill(client: Client, words: str = HOSTILE) -> None:
    """Work of every kind, rules, and things that go wrong. `words`: what people have written, in every field that takes
    any text."""
    gpu_nodes = sorted(row["name"] for row in client.nodes() if row["name"].startswith("gpu-"))
    in_cloud = {"allow": ["cloud"]}
    vm = {"kind": "vm", "vm": {"image": "debian.qcow2"}, "resources": {"cpu": 1, "memory": "1GiB"}}
    client.set_policy(
        {
            "name": "nvme-only",
            "require": 'node.labels.disk == "nvme"',
            "applies_to": {"namespaces": ["db-*"]},
            "description": words,
        },
        by=words,
        note="the database needs it",
    )
    whole_node = {"resources": {"cpu": 16, "memory": "64GiB", "gpu": 8}}
    run = {"run": {"command": ["sh", "-c", words]}}
    client.submit(
        [
            {"name": "train", "namespace": "research", "replicas": 4, "gang": {"min": 4}, **whole_node, **run},
            {"name": "notebook", "namespace": "research", "resources": {"cpu": 4, "gpu": 1}, "user": "ada"},
            {"name": "store", "namespace": "db-1", "resources": {"cpu": 2, "memory": "8GiB"}, "backends": in_cloud},
            {"name": "too-large", "resources": {"cpu": 4, "gpu": 200}},
            {"name": "machine", **vm, "backends": {"allow": ["vms"]}},
        ]
    )
    web = {
        "name": "web",
        "resources": {"cpu": 1},
        "replicas": 3,
        "update": {"drain": "0s"},
        "backends": in_cloud,
        "ports": [{"name": "http"}],
    }
    client.apply([web])
    client.reserve_ahead(
        {
            "node": "cloud-4",
            "start": "+1h",
            "duration": "2h",
            "tenant": "research",
            "holder": words,
            "resources": {"cpu": 4},
        }
    )
    _reserve_a_whole_node(client, reversed(gpu_nodes))
    client.set_budget("db-1", 10_000)
    client.patch_node("cloud-1", labels={"note": "a"})
    client.cordon(gpu_nodes[1], reason=words)
    wait_for(lambda: client.service("web")["ready"] == 3, "the service runs")
    wait_for(lambda: client.workload("machine")["state"] == "running", "the VM runs")


def _reserve_a_whole_node(client: Client, names: Iterable[str]) -> None:
    """The first that takes it: work of the demo moves in meanwhile, and a busy node refuses."""
    refused = "there is no node"
    for name in names:
        try:
            client.reserve_ahead({"node": name, "duration": "3h", "holder": "ops"})
            return
        except DovetailError as error:
            refused = str(error)
    raise AssertionError(f"no node can be reserved; the last one: {refused}")


def addresses(client: Client) -> dict[str, str]:
    """An address of every page, by its path; pages of one thing show one."""
    some = {"/workload": "/workload/research/train", "/node": f"/node/{_busiest(client)}"}
    return {page.path: some.get(page.path, page.path) for page in PAGES}


def _busiest(client: Client) -> str:
    return client.node_page(sort="-gpu", limit=1)["items"][0]["name"]


@contextmanager
def scene(folder: Path, fabric: dict[str, Any] = _FABRIC) -> Iterator[ServerProcess]:
    """A server with all of that."""
    backends = SETTINGS["backends"] | {"dc1": _GPUS | {"leaf_spine": fabric}}
    with ServerProcess(folder, SETTINGS | {"backends": backends}) as server:
        with Client(server.url) as client:
            fill(client)
        yield server
