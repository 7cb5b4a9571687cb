"""Hypervisors elsewhere: through a real SSH server, and through libvirtd's own TLS, with keys and certificates that
are checked on both sides; and what is said about those that are refused."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.contract.backends.conformance import Rig, Subject, run_async, started
from tests.contract.backends.libvirt.rig import (
    Hosts,
    backend_of,
    bound,
    domain_name,
    host_of,
    libvirt_settings,
    libvirt_subject,
    start,
)
from tests.contract.backends.machine_control import until
from tests.servers.certificates import Authority, Certificate
from tests.servers.daemon import free_ports
from tests.servers.libvirt import LibvirtServer
from tests.servers.ssh import SshServer, ssh_server
from tests.servers.tiny_guest import machine

from dovetail.backends.contract import Phase, Refusal
from dovetail.backends.libvirt.settings import LibvirtSettings
from dovetail.model.event import NodeHealthChanged, TaskFinished
from dovetail.testing.lifecycle import Lifecycle

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("libvirt")]


@pytest.fixture(scope="module")
def server(libvirt_servers: Hosts) -> Iterator[SshServer]:
    """On the first hypervisor: its logins find that libvirtd. The key may do nothing else, as the page has it."""
    with ssh_server(inside=libvirt_servers[0].daemon.pid) as server:
        server.allow_only("virt-ssh-helper qemu:///system")
        yield server


@pytest.fixture(scope="module")
def client(libvirt_servers: Hosts) -> Certificate:
    return authority_of(libvirt_servers).client("control-plane")


def authority_of(servers: Hosts) -> Authority:
    assert servers[1].authority is not None
    return servers[1].authority


def over_ssh(server: SshServer, port: int | None = None, **ssh: Path) -> dict[str, Any]:
    files = {"identity": server.identity, "known_hosts": server.known_hosts} | ssh
    address = f"root@127.0.0.1:{port or server.port}"
    return {
        "name": "far",
        "uri": f"qemu+ssh://{address}/system",
        "ssh": {name: str(one) for name, one in files.items()},
    }


def over_tls(servers: Hosts, client: Certificate, ca: Path | None = None) -> dict[str, Any]:
    files = {"ca": ca or authority_of(servers).certificate, "cert": client.certificate, "key": client.key}
    return {"name": "far", "uri": servers[1].tls_uri, "tls": {name: str(one) for name, one in files.items()}}


async def run_a_vm(rig: Rig, server: LibvirtServer, settings: LibvirtSettings) -> None:
    """Defined, started, seen and stopped on the node `far`, which is this server."""
    key = await start(rig, machine(text="hello\n", vm={"disks": [{"size": "1MiB"}]}), "far")
    name = domain_name(settings, key)
    assert name in server.running()
    (seen,) = [one for one in await backend_of(rig).machines(["far"]) if one.key == key]
    assert (seen.node, seen.name, seen.power) == ("far", name, "running")
    await rig.backend.stop(key, "enough")
    assert (await rig.finished(key)).exit_code is None
    assert "dovetail: exit 000" in (await rig.backend.logs(key, 0, 1000)).text, "the guest noticed the power button"
    assert name not in server.domains()


def ssh_processes() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if child.name() == "ssh"]


class TestLibvirtOverSsh(Lifecycle):
    """From a bind to an end."""

    @pytest.fixture
    def subject(self, tmp_path: Path, libvirt_servers: Hosts, server: SshServer) -> Subject:
        return libvirt_subject(tmp_path, libvirt_servers[0], libvirt_settings(over_ssh(server)))


def test_a_vm_runs_behind_ssh_with_a_key_that_may_do_nothing_else(
    tmp_path: Path, libvirt_servers: Hosts, server: SshServer
) -> None:
    settings = libvirt_settings(over_ssh(server), grace_s="20s")

    async def scene() -> None:
        async with started(libvirt_subject(tmp_path, libvirt_servers[0], settings)) as rig:
            assert [node.labels["hostname"] for node in rig.reports.nodes] == ["hv1"]
            await run_a_vm(rig, libvirt_servers[0], settings)
            assert ssh_processes()
        await until(lambda: not ssh_processes(), "the end of ssh, which nobody needs any more")

    run_async(scene)


def test_a_vm_outlives_the_way_to_its_hypervisor_and_is_heard_of_again(
    tmp_path: Path, libvirt_servers: Hosts, server: SshServer
) -> None:
    settings = libvirt_settings(over_ssh(server), look_interval_s="1s")

    async def scene() -> None:
        async with started(libvirt_subject(tmp_path, libvirt_servers[0], settings)) as rig:
            key = await start(rig, machine(), "far")
            server.kill()
            await rig.reports.until_true(lambda: not rig.reports.online("far"), "the node's absence")
            with pytest.raises(Refusal, match="is offline: qemu"):
                await rig.backend.bind(bound(rig, machine(), "far"))
            server.start()
            await rig.reports.until_true(lambda: rig.reports.online("far"), "the node's return")
            assert (await rig.backend.status(key)).phase is Phase.RUNNING
            assert not rig.reports.about(TaskFinished, key)
            assert libvirt_servers[0].starts(domain_name(settings, key)) == 1
            await backend_of(rig).kill(key, "enough")
            await rig.finished(key)

    try:
        run_async(scene)
    finally:
        if not server.daemon.alive:
            server.start()


@pytest.mark.parametrize(
    ("wrong", "words", "advice"),
    [
        ("host key", r"Host key for .* has changed .* Host key verification failed", "in ssh.known_hosts"),
        ("unknown host", "host key is known for .* Host key verification failed", "in ssh.known_hosts"),
        ("key", r"root@127.0.0.1: Permission denied \(publickey\)", "of ssh.identity to authorized_keys"),
        ("port", "connect to host 127.0.0.1 port [0-9]+: Connection refused", "correct host and port in uri"),
        ("silence", "no answer in 3 s", "correct host and port in uri"),
        ("command", "not-there: (command )?not found", ""),
        ("program", "exec: /no/ssh: not found", "correct ssh.program"),
    ],
)
def test_what_ssh_complains_of_is_why_the_hypervisor_is_offline_and_delays_no_other(
    tmp_path: Path, libvirt_servers: Hosts, server: SshServer, wrong: str, words: str, advice: str
) -> None:
    host = over_ssh(server)
    if wrong == "key":
        host = over_ssh(server, identity=server.stranger)
    elif wrong == "program":
        host = over_ssh(server, program=Path("/no/ssh"))
    elif wrong == "port":
        host = over_ssh(server, port=free_ports(1)[0])
    elif wrong in ("host key", "unknown host"):
        known = tmp_path / "known_hosts"
        another = server.stranger.with_suffix(".pub").read_text()
        known.write_text(f"[127.0.0.1]:{server.port} {another}" if wrong == "host key" else "")
        host = over_ssh(server, known_hosts=known)
    settings = libvirt_settings(host, host_of(libvirt_servers[1]), answer_within_s="3s")

    async def scene() -> None:
        async with started(libvirt_subject(tmp_path, libvirt_servers[1], settings)) as rig:
            await rig.reports.until_true(lambda: rig.reports.online("hv2"), "the other node")
            key = await start(rig, machine(), "hv2")
            await rig.reports.until_true(lambda: bool(rig.reports.of(NodeHealthChanged)), "what is wrong")
            (event,) = rig.reports.of(NodeHealthChanged)
            assert event.name == "far"
            reason = event.reason
            assert reason.startswith(f"{host['uri']}: ")
            assert re.search(words, reason), reason
            assert advice in reason
            assert (await rig.backend.status(key)).phase is Phase.RUNNING
            await backend_of(rig).kill(key, "enough")
            await rig.finished(key)

    with ExitStack() as stack:
        if wrong == "silence":
            stack.enter_context(server.daemon.paused())
        elif wrong == "command":
            server.allow_only("not-there")
            stack.callback(server.allow_only, "virt-ssh-helper qemu:///system")
        run_async(scene)


def test_a_vm_runs_behind_tls_with_certificates_of_the_settings(
    tmp_path: Path, libvirt_servers: Hosts, client: Certificate
) -> None:
    settings = libvirt_settings(over_tls(libvirt_servers, client), grace_s="20s")

    async def scene() -> None:
        async with started(libvirt_subject(tmp_path, libvirt_servers[1], settings)) as rig:
            assert [node.labels["hostname"] for node in rig.reports.nodes] == ["hv2"]
            await run_a_vm(rig, libvirt_servers[1], settings)

    run_async(scene)


@pytest.mark.parametrize(
    ("wrong", "words", "advice"),
    [
        ("authority", "the certificate of libvirtd is refused: unable to get local issuer", "tls.ca has to have"),
        ("time", "the certificate of libvirtd is refused: certificate has expired", "replace the certificate"),
        ("signer", "Our own certificate {cert} failed validation against {ca}", "tls.ca has to have"),
        ("expired", "The client certificate {cert} has expired", "replace the certificate"),
        ("refused", "Unable to read TLS confirmation", "libvirtd refused tls.cert"),
        ("missing", "{key}: No such file or directory", "correct tls in the settings"),
    ],
)
def test_certificates_that_are_wrong_are_named(
    tmp_path: Path, libvirt_servers: Hosts, client: Certificate, wrong: str, words: str, advice: str
) -> None:
    ours, other = authority_of(libvirt_servers), Authority(tmp_path / "other")
    host = over_tls(libvirt_servers, client)
    if wrong == "authority":
        host = over_tls(libvirt_servers, other.client("control-plane"), other.certificate)
    elif wrong == "signer":
        host = over_tls(libvirt_servers, client, other.certificate)
    elif wrong == "expired":
        late = ours.client("late")
        ours.expire(late)
        host = over_tls(libvirt_servers, late)
    elif wrong == "refused":
        both = tmp_path / "both.pem"
        both.write_text(ours.certificate.read_text() + other.certificate.read_text())
        host = over_tls(libvirt_servers, other.client("control-plane"), both)
    elif wrong == "missing":
        host = over_tls(libvirt_servers, Certificate(client.certificate, tmp_path / "no-key.pem"))

    async def scene() -> None:
        async with started(libvirt_subject(tmp_path, libvirt_servers[1], libvirt_settings(host))) as rig:
            (event,) = rig.reports.of(NodeHealthChanged)
            assert words.format(**host["tls"]) in event.reason
            assert advice in event.reason

    with libvirt_servers[1].expired() if wrong == "time" else nullcontext():
        run_async(scene)
