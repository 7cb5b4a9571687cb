"""The libvirt backend keeps the contract, and bears a connection that misbehaves."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.contract.backends.conformance import BackendConformance, Subject
from tests.contract.backends.machine_control import MachineControlSuite
from tests.servers.libvirt import LibvirtServer

if TYPE_CHECKING:
    from tests.contract.backends.libvirt.rig import Hosts

from dovetail.testing.lossy_proxy import LossyProxy

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("libvirt")]


class TestLibvirt(BackendConformance):
    @pytest.fixture
    def subject(self, tmp_path: Path, libvirt_servers: "Hosts") -> Iterator[Subject]:
        from tests.contract.backends.libvirt.rig import host_of, libvirt_settings, libvirt_subject, with_hooks

        server = libvirt_servers[0]
        with LossyProxy(str(server.socket)) as proxy:
            settings = libvirt_settings(host_of(server, parameters={"socket": str(proxy.address)}))
            yield with_hooks(libvirt_subject(tmp_path, server, settings), proxy)


class TestControlOfLibvirt(MachineControlSuite):
    CLUSTER = "controlled"

    @pytest.fixture
    def server(self, libvirt_servers: "Hosts") -> LibvirtServer:
        return libvirt_servers[0]

    @pytest.fixture
    def domain(self) -> Callable[[str], str]:
        return lambda key: f"dovetail-{self.CLUSTER}-{key}"

    @pytest.fixture
    def subject(self, tmp_path: Path, server: LibvirtServer) -> Subject:
        from tests.contract.backends.libvirt.rig import host_of, libvirt_settings, libvirt_subject

        settings = libvirt_settings(host_of(server), cluster=self.CLUSTER, grace_s="20s")
        return libvirt_subject(tmp_path, server, settings)
