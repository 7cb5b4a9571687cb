"""Settings of an agent."""

import re
from pathlib import Path

import pytest

from dovetail.agent.settings import DOCKER_URL, read_settings
from dovetail.backends.libvirt.settings import refuse_unsafe_peer
from dovetail.model.text.complaint import Invalid

ROOT = Path(__file__).parents[3]
PODMAN = "docker: {url: 'unix:///run/podman.sock', pull: never}"


def settings(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "agent.yaml"
    file.write_text(text)
    return file


def test_the_hypervisor_of_the_machine_is_one_host(tmp_path: Path) -> None:
    pytest.importorskip("libvirt", reason="the Python package libvirt-python is not installed")
    usual = read_settings(settings(tmp_path, "libvirt: {}"), None, None).libvirt
    assert usual is not None
    assert [one.uri for one in usual.hypervisors] == ["qemu:///system"]
    other = read_settings(settings(tmp_path, "libvirt: {uri: 'qemu:///session', pool: vms}"), None, None).libvirt
    assert other is not None
    assert (other.hypervisors[0].uri, other.pool) == ("qemu:///session", "vms")
    two = "libvirt: {hypervisors: {a: 'qemu:///system', b: 'qemu:///session'}}"
    with pytest.raises(Invalid, match="the hypervisor of its own machine"):
        read_settings(settings(tmp_path, two), None, None)
    socket = "libvirt: {uri: 'qemu+unix:///system', parameters: {socket: /nowhere}}"
    with pytest.raises(Invalid, match="there is no socket /nowhere"):
        read_settings(settings(tmp_path, socket), None, None)


def test_the_settings_on_the_page_let_vms_move(tmp_path: Path) -> None:
    pytest.importorskip("libvirt", reason="the Python package libvirt-python is not installed")
    page = (ROOT / "docs/backends/libvirt.md").read_text()
    [block] = re.findall(r"```yaml\n(# agent\.yaml\n.*?)```", page, re.DOTALL)
    found = read_settings(settings(tmp_path, block), None, None).libvirt
    assert found is not None
    [host] = found.hypervisors
    assert host.reached_by_peers is not None
    refuse_unsafe_peer(host.reached_by_peers)
    assert (found.cluster, found.shared_storage) == ("lab", True)
    assert host.migration_address == "10.0.0.7"


def test_an_engine_is_named_by_its_address_or_is_the_usual_one(tmp_path: Path) -> None:
    assert read_settings(settings(tmp_path, "{}"), None, None).docker is None
    usual = read_settings(settings(tmp_path, "docker: {}"), None, None).docker
    assert usual is not None
    assert [host.url for host in usual.hosts] == [DOCKER_URL]
    other = read_settings(settings(tmp_path, PODMAN), None, None).docker
    assert other is not None
    assert ([host.url for host in other.hosts], other.pull) == (["unix:///run/podman.sock"], "never")


def test_an_agent_has_one_engine(tmp_path: Path) -> None:
    two = "docker: {hosts: {a: {url: 'unix:///a'}, b: {url: 'unix:///b'}}}"
    with pytest.raises(Invalid, match="the engine of its own machine"):
        read_settings(settings(tmp_path, two), None, None)
