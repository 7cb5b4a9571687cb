"""VMs of two nodes with agents move while they run."""

from collections.abc import Callable, Iterator

import pytest
from tests.contract.backends.agent.rig import agents_with_hypervisors, hypervisor_settings
from tests.contract.backends.conformance import Subject
from tests.contract.backends.migration import Hosts, MigrationSuite

CLUSTER = "two-agents"
pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("libvirt")]


@pytest.fixture(scope="module")
def two_agents(tmp_path_factory: pytest.TempPathFactory, libvirt_servers: Hosts) -> Iterator[Subject]:
    settings = [hypervisor_settings(one, CLUSTER) for one in libvirt_servers]
    with agents_with_hypervisors(tmp_path_factory.mktemp("agents"), libvirt_servers, settings, CLUSTER) as found:
        yield found


class TestMigrationBetweenAgents(MigrationSuite):
    @pytest.fixture
    def subject(self, two_agents: Subject) -> Subject:
        return two_agents

    @pytest.fixture
    def hampered(self, tmp_path_factory: pytest.TempPathFactory, libvirt_servers: Hosts) -> Iterator[Subject]:
        first, second = libvirt_servers
        away = {"peer_uri": "qemu+tcp://127.0.0.1:1/system", "shared_storage": False}
        settings = [
            hypervisor_settings(first, CLUSTER, shared_storage=False),
            hypervisor_settings(second, CLUSTER, **away),
        ]
        folder = tmp_path_factory.mktemp("hampered")
        with agents_with_hypervisors(folder, libvirt_servers, settings, CLUSTER) as found:
            yield found

    @pytest.fixture
    def domain(self) -> Callable[[str], str]:
        return lambda key: f"dovetail-{CLUSTER}-{key}"
