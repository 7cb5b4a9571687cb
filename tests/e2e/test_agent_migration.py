"""VMs behind agents move while they run: asked for, or because a node is drained."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract.backends.libvirt.rig import Hosts
from tests.e2e.migrating_agents import MigratingAgents, migrating_agents
from tests.patience import wait_for

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("libvirt")]
#: Of documentation: no machine has it, so nothing can listen there.
NOBODYS_ADDRESS = "192.0.2.1"
DISK = {"disks": [{"size": "1MiB"}]}


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory, libvirt_servers: Hosts) -> Iterator[MigratingAgents]:
    with migrating_agents(tmp_path_factory.mktemp("moving"), libvirt_servers) as found:
        yield found


def test_a_vm_moves_there_and_back_and_keeps_its_log_and_its_key(rig: MigratingAgents) -> None:
    domain = rig.start_vm("roamer", "hv1", vm=DISK)
    for target in ("hv2", "hv1"):
        said = rig.told("vm", "migrate", "roamer", target)
        assert "done" in said
        assert rig.where(domain) == [target]
        wait_for(lambda target=target: rig.arrived("roamer", domain, target), "the server knows it")  # type: ignore[misc]
        found = rig.client.vm_migration("roamer")
        assert (found["state"], found["target"]) == ("done", target)
        assert found["sent_bytes"]
        assert found["downtime_s"] is not None
    wait_for(lambda: not rig.open_moves(), "both agents know that it is over")
    assert "up roamer" in rig.client.logs("roamer").text
    assert sum(host.starts(domain) for host in rig.hosts.values()) == 3, "QEMU was started once for each arrival"
    rig.ends("roamer", domain)


def test_a_node_that_cannot_take_it_in_is_refused_with_what_to_do(rig: MigratingAgents) -> None:
    domain = rig.start_vm("stays", "hv1")
    with rig.plain_agent("plain"):
        refused = "this node has no hypervisor; give its agent one: libvirt in its settings"
        wait_for(lambda: refused in rig.told("vm", "migrate", "stays", "plain"), "its agent is heard, and refuses")
        assert "there is no node" in rig.told("vm", "migrate", "stays", "nowhere")
        assert "runs on hv1 already" in rig.told("vm", "migrate", "stays", "hv1")
    assert rig.arrived("stays", domain, "hv1"), "nothing was begun"
    assert not rig.open_moves()
    rig.ends("stays", domain)


def test_a_drain_moves_the_vms_of_a_node_while_they_run(rig: MigratingAgents) -> None:
    domain = rig.start_vm("guest", "hv1", vm=DISK)
    rig.client.drain("hv1")
    wait_for(lambda: rig.arrived("guest", domain, "hv2"), "it was moved, and not started again")
    rig.client.uncordon("hv1")
    rig.ends("guest", domain)


def test_a_migration_that_fails_leaves_the_vm_where_it_is(tmp_path: Path, libvirt_servers: Hosts) -> None:
    with migrating_agents(tmp_path, libvirt_servers, migration_address=NOBODYS_ADDRESS) as rig:
        domain = rig.start_vm("unmoved", "hv1")
        said = rig.told("vm", "migrate", "unmoved", "hv2")
        assert "unmoved was not migrated live: internal error" in said
        wait_for(lambda: rig.arrived("unmoved", domain, "hv1"), "it runs on")
        assert rig.hosts["hv1"].starts(domain) == 1, "it was not started again"
        assert "stays on hv1" in rig.client.tasks("unmoved")[0]["message"]
        wait_for(lambda: not rig.open_moves(), "both agents know that it is over")
        rig.client.drain("hv1")
        wait_for(lambda: rig.node_of("unmoved") == "hv2", "it has to leave, so it is stopped and started there")
        rig.client.uncordon("hv1")
        wait_for(lambda: rig.client.workload("unmoved")["state"] == "running", "it runs again")
        rig.client.cancel("unmoved")
        wait_for(lambda: rig.client.workload("unmoved")["state"] == "cancelled", "it has ended")
