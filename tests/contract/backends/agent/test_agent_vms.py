"""VMs of a node with an agent keep the promises too: a real hypervisor beside the agent, faults on the way."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.contract.backends.agent.rig import agent_with_hypervisor
from tests.contract.backends.conformance import BackendConformance, Subject
from tests.contract.backends.machine_control import MachineControlSuite
from tests.servers.libvirt import LibvirtServer

CLUSTER = "behind-agent"
pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("libvirt")]


@pytest.fixture(scope="module")
def hypervisor(
    tmp_path_factory: pytest.TempPathFactory, libvirt_servers: tuple[LibvirtServer, LibvirtServer]
) -> Iterator[Subject]:
    with agent_with_hypervisor(tmp_path_factory.mktemp("agent"), libvirt_servers[0], CLUSTER) as subject:
        yield subject


class TestVmsOfANodeWithAgent(BackendConformance):
    @pytest.fixture
    def subject(self, hypervisor: Subject, tmp_path: Path) -> Subject:
        return hypervisor


class TestControlOfVmsOfANodeWithAgent(MachineControlSuite):
    @pytest.fixture
    def subject(self, hypervisor: Subject) -> Subject:
        return hypervisor

    @pytest.fixture
    def server(self, libvirt_servers: tuple[LibvirtServer, LibvirtServer]) -> LibvirtServer:
        return libvirt_servers[0]

    @pytest.fixture
    def domain(self) -> Callable[[str], str]:
        return lambda key: f"dovetail-{CLUSTER}-{key}"
