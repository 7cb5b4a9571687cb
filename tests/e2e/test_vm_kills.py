"""A server that is killed around the creation of VMs starts none twice and leaves none behind."""

from pathlib import Path

import pytest
from tests.examples import times
from tests.servers.libvirt import LibvirtServer

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("libvirt")]
KILLS = 3


def test_a_server_that_is_killed_around_the_creation_of_vms_starts_none_twice_and_leaves_none(
    tmp_path: Path, libvirt_servers: tuple[LibvirtServer, LibvirtServer]
) -> None:
    from tests.e2e.vm_kills import VmKills

    audit = VmKills(libvirt_servers, tmp_path, seed=1).run(times(KILLS))
    assert audit.wrong == []
    assert audit.started, "something ran"
