"""The libvirt backend keeps the contract, and bears a connection that misbehaves."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.contract.backends.conformance import BackendConformance, Subject

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
