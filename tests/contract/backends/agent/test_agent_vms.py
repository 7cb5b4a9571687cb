"""VMs of a node with an agent keep the promises too: a real hypervisor beside the agent, faults on the way."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract.backends.agent.rig import agent_with_hypervisor
from tests.contract.backends.conformance import BackendConformance, Subject
from tests.servers.libvirt import LibvirtServer

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("libvirt")]


@pytest.fixture(scope="module")
def hypervisor(
    tmp_path_factory: pytest.TempPathFactory, libvirt_servers: tuple[LibvirtServer, LibvirtServer]
) -> Iterator[Subject]:
    with agent_with_hypervisor(tmp_path_factory.mktemp("agent"), libvirt_servers[0], "behind-agent") as subject:
        yield subject


class TestVmsOfANodeWithAgent(BackendConformance):
    @pytest.fixture
    def subject(self, hypervisor: Subject, tmp_path: Path) -> Subject:
        return hypervisor
