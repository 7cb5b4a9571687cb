"""A server that is killed around the creation and the end of VMs leaves no second VM, no orphan and no disk."""

from pathlib import Path

import pytest
from tests.e2e.vm_kills import VmKills
from tests.servers.libvirt import LibvirtServer

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("libvirt")]


@pytest.mark.slow
def test_a_killed_server_leaves_no_second_vm_and_nothing_behind(
    tmp_path: Path, libvirt_servers: tuple[LibvirtServer, LibvirtServer]
) -> None:
    audit = VmKills(libvirt_servers, tmp_path, seed=7).run(4)
    assert not audit.wrong
    assert audit.kills == 4
