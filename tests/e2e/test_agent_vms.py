"""A machine with a hypervisor and an agent: VMs run there, and an agent that is killed finds them again."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.agent_process import AgentProcess
from tests.e2e.server_process import ServerProcess
from tests.e2e.warm_shell import run_warm
from tests.patience import wait_for
from tests.servers.libvirt import LibvirtServer
from tests.servers.tiny_guest import machine, write_kernel

from dovetail.client import Client

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("libvirt")]
CLUSTER = "agent-e2e"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with ServerProcess(tmp_path, {"backends": {}}) as server, Client(server.url) as found:
        yield found


def told(client: Client, *words: str) -> str:
    """What the command prints, to either side."""
    found = run_warm(list(words), {**os.environ, "COLUMNS": "160", "DOVETAIL_URL": client.url})
    return str(found.stdout) + str(found.stderr)


@pytest.fixture
def agent(
    client: Client, tmp_path: Path, libvirt_servers: tuple[LibvirtServer, LibvirtServer]
) -> Iterator[AgentProcess]:
    write_kernel(libvirt_servers[0].pool)
    libvirt = {"uri": "qemu+unix:///system", "parameters": {"socket": str(libvirt_servers[0].socket)}}
    more = {"cluster": CLUSTER, "emulate": True, "grace_s": "1s", "answer_within_s": "40s"}
    found = AgentProcess(tmp_path, libvirt=libvirt | more)
    found.start("--join", client.url, "--token", client.make_join_token(uses=1, ttl="10m")["token"])
    yield found
    found.end()


def test_vms_run_behind_an_agent_and_are_found_again(
    client: Client, agent: AgentProcess, libvirt_servers: tuple[LibvirtServer, LibvirtServer]
) -> None:
    server = libvirt_servers[0]
    wait_for(lambda: [node["name"] for node in client.nodes()] == ["far"], "the node")
    assert set(client.node("far")["definition"]["kinds"]) == {"job", "vm"}
    id_ = client.submit(machine(text="hello from the guest\n", name="guest").model_dump(mode="json"))[0]["id"]
    domain = f"dovetail-{CLUSTER}-{id_}.0.1"
    wait_for(lambda: client.workload("guest")["state"] == "running", "the VM runs")
    wait_for(lambda: "hello from the guest" in client.logs("guest").text, "its console")
    assert "commands do not run in a VM from outside" in told(client, "exec", "guest", "--", "true")
    assert "backend registered, which runs it, only starts and ends it" in told(client, "vm", "stop", "guest")
    assert "guest" in told(client, "vm", "list")
    [row] = client.vms()
    shown = {name: row[name] for name in ("workload", "node", "power", "cpus", "memory_bytes")}
    assert shown == {"workload": "guest", "node": "far", "power": "running", "cpus": 1, "memory_bytes": 8 * 2**20}
    agent.end()
    agent.start()
    wait_for(lambda: agent.log.read_text().count("node far of") == 2, "it is back")
    assert server.running().count(domain) == 1
    client.cancel("guest")
    wait_for(lambda: domain not in server.domains(), "the VM is gone")
    wait_for(lambda: client.workload("guest")["state"] == "cancelled", "its end is told")
    assert server.starts(domain) == 1
