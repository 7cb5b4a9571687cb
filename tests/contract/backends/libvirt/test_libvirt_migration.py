"""VMs on hypervisors that the server itself reaches move while they run."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.contract.backends.conformance import Subject
from tests.contract.backends.libvirt.rig import Hosts, host_of, libvirt_settings, libvirt_subject
from tests.contract.backends.migration import MigrationSuite

CLUSTER = "direct"
pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("libvirt")]


class TestMigrationOfLibvirt(MigrationSuite):
    @pytest.fixture
    def subject(self, tmp_path: Path, libvirt_servers: Hosts) -> Subject:
        settings = libvirt_settings(*map(host_of, libvirt_servers), cluster=CLUSTER)
        return libvirt_subject(tmp_path, libvirt_servers[0], settings)

    @pytest.fixture
    def hampered(self, tmp_path: Path, libvirt_servers: Hosts) -> Subject:
        first, second = libvirt_servers
        away = host_of(second, peer_uri="qemu+tcp://127.0.0.1:1/system")
        settings = libvirt_settings(host_of(first), away, cluster=CLUSTER, shared_storage=False)
        return libvirt_subject(tmp_path, first, settings)

    @pytest.fixture
    def domain(self) -> Callable[[str], str]:
        return lambda key: f"dovetail-{CLUSTER}-{key}"
