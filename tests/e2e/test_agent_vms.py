"""A machine with a hypervisor and an agent: VMs run there, and an agent that is killed finds them again."""

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from tests.contract.backends.machine_control import define_foreign, remove_foreign
from tests.e2e.agent_process import AgentProcess
from tests.e2e.server_process import ServerProcess
from tests.e2e.warm_shell import run_warm
from tests.patience import wait_for
from tests.servers.libvirt import LibvirtServer
from tests.servers.tiny_guest import machine, write_kernel

from dovetail.client import Client

CLUSTERS = count(1)
pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("libvirt")]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with ServerProcess(tmp_path, {"backends": {}}) as server, Client(server.url) as found:
        yield found


def told(client: Client, *words: str) -> str:
    """What the command prints, to either side."""
    found = run_warm(list(words), {**os.environ, "COLUMNS": "160", "DOVETAIL_URL": client.url})
    return str(found.stdout) + str(found.stderr)


@pytest.fixture
def cluster() -> str:
    """Each test has a server that counts from one, and all have one hypervisor, which knows VMs by the two."""
    return f"agent-{next(CLUSTERS)}"


@pytest.fixture
def agent(
    client: Client, cluster: str, tmp_path: Path, libvirt_servers: tuple[LibvirtServer, LibvirtServer]
) -> Iterator[AgentProcess]:
    write_kernel(libvirt_servers[0].pool)
    libvirt = {"uri": "qemu+unix:///system", "parameters": {"socket": str(libvirt_servers[0].socket)}}
    more = {"cluster": cluster, "emulate": True, "grace_s": "1s", "answer_within_s": "40s"}
    found = AgentProcess(tmp_path, libvirt=libvirt | more)
    found.start("--join", client.url, "--token", client.make_join_token(uses=1, ttl="10m")["token"])
    yield found
    found.end()


def test_vms_run_behind_an_agent_and_are_found_again(
    client: Client, agent: AgentProcess, cluster: str, libvirt_servers: tuple[LibvirtServer, LibvirtServer]
) -> None:
    server = libvirt_servers[0]
    wait_for(lambda: [node["name"] for node in client.nodes()] == ["far"], "the node")
    assert set(client.node("far")["definition"]["kinds"]) == {"job", "vm"}
    id_ = client.submit(machine(text="hello from the guest\n", name="guest").model_dump(mode="json"))[0]["id"]
    domain = f"dovetail-{cluster}-{id_}.0.1"
    wait_for(lambda: client.workload("guest")["state"] == "running", "the VM runs")
    wait_for(lambda: "hello from the guest" in client.logs("guest").text, "its console")
    assert "commands do not run in a VM from outside" in told(client, "exec", "guest", "--", "true")
    [row] = [one for one in client.vms() if one["workload"] is not None]
    shown = {name: row[name] for name in ("workload", "node", "power", "cpus", "memory_bytes")}
    assert shown == {"workload": "guest", "node": "far", "power": "running", "cpus": 1, "memory_bytes": 8 * 2**20}
    agent.end()
    wait_for(lambda: [one["power"] for one in client.vms()] == ["unknown"], "nobody tells of it")
    agent.start()
    wait_for(lambda: agent.log.read_text().count("node far of") == 2, "it is back")
    assert server.running().count(domain) == 1
    client.cancel("guest")
    wait_for(lambda: domain not in server.domains(), "the VM is gone")
    wait_for(lambda: client.workload("guest")["state"] == "cancelled", "its end is told")
    assert server.starts(domain) == 1


def power_of(client: Client, name: str) -> str:
    return {one["workload"]: one["power"] for one in client.vms()}.get(name, "gone")


def test_power_and_snapshots_go_through_the_agent(client: Client, agent: AgentProcess) -> None:
    client.submit(machine(text="up\n", name="guest", vm={"disks": [{"size": "1MiB"}]}).model_dump(mode="json"))
    wait_for(lambda: client.workload("guest")["state"] == "running" and client.logs("guest").text, "the VM runs")
    assert "before" in told(client, "vm", "snapshot", "guest", "before")
    assert [one["name"] for one in client.vm_snapshots("guest")] == ["before"]
    told(client, "vm", "stop", "guest")
    wait_for(lambda: power_of(client, "guest") == "off", "it is off")
    assert client.workload("guest")["state"] == "running", "its workload goes on"
    assert "it is off" in told(client, "vm", "reboot", "guest")
    told(client, "vm", "start", "guest")
    wait_for(lambda: power_of(client, "guest") == "running", "it is on")
    client.cancel("guest")
    wait_for(lambda: client.workload("guest")["state"] == "cancelled", "its end")


def test_a_vm_of_others_behind_an_agent_is_adopted_where_it_runs(
    client: Client, agent: AgentProcess, libvirt_servers: tuple[LibvirtServer, LibvirtServer]
) -> None:
    server = libvirt_servers[0]
    wait_for(lambda: [node["name"] for node in client.nodes()] == ["far"], "the node")
    define_foreign(server, "inherited")
    try:
        wait_for(lambda: "inherited" in [one["name"] for one in client.vms()], "it is seen")
        assert "no VM 'nothing' of others" in told(client, "vm", "adopt", "far", "nothing")
        told(client, "vm", "adopt", "far", "inherited")
        wait_for(lambda: power_of(client, "inherited") == "running", "it is ours")
        wait_for(lambda: client.workload("inherited")["state"] == "running", "its workload runs")
        assert server.starts("inherited") == 1
        client.cancel("inherited")
        wait_for(lambda: "inherited" not in server.running(), "the end of the guest")
    finally:
        remove_foreign(server, "inherited")
