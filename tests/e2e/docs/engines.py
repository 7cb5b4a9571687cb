"""The systems beside Dovetail that some pages are about: real ones, shared with the tests of the backends.

A page writes addresses as its readers have them. They are replaced by those of the engine of the test before a block is
run. Commands of the engine (`docker`, `kubectl`, `squeue`) find it through their environment.
"""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.servers.daemon import free_ports, skip_without

from dovetail.client import Client

if TYPE_CHECKING:
    from tests.servers.docker import DockerServer
    from tests.servers.kubernetes.server import KubeServer
    from tests.servers.libvirt import LibvirtServer
    from tests.servers.moto import MotoServer
    from tests.servers.openpbs.server import OpenPbsStandIn
    from tests.servers.slurm import SlurmServer

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True, slots=True)
class Engine:
    """`replaced`: what stands in the page, and what it is here. `hooks`: what blocks with `hook` do here;
    `server_hooks`: the same of those that need the URL of the page's server."""

    replaced: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    hooks: dict[str, Callable[[], None]] = field(default_factory=dict)
    server_hooks: dict[str, Callable[[str], None]] = field(default_factory=dict)

    def here(self, text: str) -> str:
        for written, address in self.replaced.items():
            text = text.replace(written, address)
        return text


@contextmanager
def _docker(request: pytest.FixtureRequest, _: Path) -> Iterator[Engine]:
    """The image `busybox` is on the host: there is no registry to pull it from."""
    skip_without("docker")
    server: DockerServer
    server, _second = request.getfixturevalue("docker_servers")
    with server.client() as client:
        client.post("/images/busybox:local/tag", params={"repo": "busybox", "tag": "latest"}).raise_for_status()
    yield Engine({"unix:///var/run/docker.sock": server.url}, {"DOCKER_HOST": server.url})


@contextmanager
def _slurm(request: pytest.FixtureRequest, folder: Path) -> Iterator[Engine]:
    server: SlurmServer = request.getfixturevalue("slurm_server")
    shared = folder / "shared"
    shared.mkdir()
    replaced = {"unix:/run/slurmrestd/slurmrestd.sock": f"unix:{server.socket}", "/shared/dovetail": str(shared)}
    yield Engine(replaced, server.environment)


@contextmanager
def _kubernetes(request: pytest.FixtureRequest, _: Path) -> Iterator[Engine]:
    """A node that runs pods, and the namespaces of the page. What other tests installed of ours is gone."""
    from tests.servers.kubelet import kubelet, namespace

    skip_without("kubectl", "curl")
    server: KubeServer = request.getfixturevalue("kube_server")
    (port,) = free_ports(1)
    replaced = {"~/.kube/config": str(server.kubeconfig), "8443": str(port)}
    ours = [f"--filename={ROOT / 'deploy' / 'kubernetes' / name}.yaml" for name in ("scheduler", "extender")]
    words = ["kubectl", "delete", "--ignore-not-found", f"--kubeconfig={server.kubeconfig}", *ours]
    subprocess.run(words, check=True, capture_output=True, timeout=120)
    with ExitStack() as stack:
        for name in ("default", "batch"):
            stack.enter_context(namespace(server, name))
        stack.enter_context(kubelet(server, "worker-1"))
        yield Engine(replaced, {"KUBECONFIG": str(server.kubeconfig)})


@contextmanager
def _libvirt(request: pytest.FixtureRequest, folder: Path) -> Iterator[Engine]:
    """Two hypervisors with one pool, the first also behind SSH, the second also behind TLS. The image of the page is
    empty: firmware that finds nothing to boot waits."""
    from tests.servers.ssh import ssh_server

    servers: tuple[LibvirtServer, LibvirtServer] = request.getfixturevalue("libvirt_servers")
    first, second = servers
    image = first.pool / "debian-12.qcow2"
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", image, "16M"], check=True, timeout=60)
    keys = folder / "keys"
    keys.mkdir()
    assert second.authority is not None
    client = second.authority.client("control-plane")
    for name, file in (("ca", second.authority.certificate), ("cert", client.certificate), ("key", client.key)):
        shutil.copy(file, keys / f"{name}.pem")
    with ssh_server(inside=first.daemon.pid) as ssh:

        def make_account() -> None:
            ssh.allow_only("virt-ssh-helper qemu:///system", (keys / "id_ed25519.pub").read_text().strip())

        replaced = {
            "qemu:///system": first.peer_uri,
            "qemu+ssh://ops@10.0.0.8/system": second.peer_uri,
            "qemu+ssh://dovetail@10.0.0.7/system": f"qemu+ssh://{ssh.address}/system",
            "qemu+tls://10.0.0.8/system": second.tls_uri,
            "-t ed25519 10.0.0.7": f"-t ed25519 -p {ssh.port} 127.0.0.1",
            "10.0.0.8": "127.0.0.1",
            "/etc/dovetail": str(keys),
        }
        yield Engine(replaced, hooks={"account": make_account})


@contextmanager
def _network(_: pytest.FixtureRequest, __: Path) -> Iterator[Engine]:
    """Six nodes on two switches, which report as agents do; that agents measure right, tests/e2e/network shows."""
    from tests.servers.measured_nodes import join_measured

    names = [f"n{number}" for number in range(1, 7)]

    def join(url: str) -> None:
        with Client(url) as client:
            join_measured(client, names)

    yield Engine(server_hooks={"agents": join})


@contextmanager
def _pbs(request: pytest.FixtureRequest, folder: Path) -> Iterator[Engine]:
    """The stand-in for OpenPBS, and Slurm's commands in the dialect of Torque."""
    skip_without("qsub", "qstat", "qdel", "pbsnodes")
    server: OpenPbsStandIn = request.getfixturevalue("openpbs")
    slurm: SlurmServer = request.getfixturevalue("slurm_server")
    shared = folder / "shared"
    shared.mkdir()
    launcher = f"\n    launcher: {server.bin}/pbsdsh"
    replaced = {"commands: /opt/pbs/bin": f"commands: {server.bin}{launcher}", "/opt/pbs/bin": str(server.bin)}
    replaced |= {"/shared/dovetail": str(shared), "/etc/slurm/slurm.conf": str(slurm.settings)}
    yield Engine(replaced)


@contextmanager
def _azure(_: pytest.FixtureRequest, folder: Path) -> Iterator[Engine]:
    """A fake of ours at the wire (`tests/servers/azure_wire.py`). Its machines boot here: each is a process."""
    from tests.servers.azure_wire import AzureWire
    from tests.servers.booted_machines import booted_machines
    from tests.servers.certificates import Authority

    pytest.importorskip("azure.mgmt.compute", reason="azure-mgmt-compute is not installed (PyPI)")
    authority = Authority(folder / "authority")
    with AzureWire(authority.server("azure")) as wire, booted_machines(wire, folder / "machines") as machines:
        there = f"endpoint: {wire.url}\n    authority: {wire.url}\n    ca: {authority.certificate}"
        yield Engine({"disk_gib: 64": f"poll: 200ms\n    {there}"}, server_hooks={"machines": machines.join})


@contextmanager
def _gcp(_: pytest.FixtureRequest, folder: Path) -> Iterator[Engine]:
    """A fake of ours at the wire (`tests/servers/gcp_wire.py`). Its machines boot here: each is a process."""
    from tests.servers.booted_machines import booted_machines
    from tests.servers.gcp_wire import GcpWire

    pytest.importorskip("google.cloud.compute_v1", reason="google-cloud-compute is not installed (PyPI)")
    with GcpWire() as wire, booted_machines(wire, folder / "machines") as machines:
        replaced = {
            "/etc/dovetail/gcp.json": str(wire.keyfile(folder / "gcp.json")),
            "disk_gib: 64": f"poll: 200ms\n    endpoint: {wire.url}",
        }
        yield Engine(replaced, server_hooks={"machines": machines.join})


@contextmanager
def _lambda(_: pytest.FixtureRequest, __: Path) -> Iterator[Engine]:
    """The emulator, which boto3 in scripts of the page finds through its variable."""
    from tests.servers.ministack import REGION, ministack_server

    with ministack_server() as server:
        region = f"region: {REGION}"
        keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": REGION}
        yield Engine({region: f"{region}\n    endpoint: {server.url}"}, {"AWS_ENDPOINT_URL": server.url, **keys})


@contextmanager
def _azure_functions(_: pytest.FixtureRequest, __: Path) -> Iterator[Engine]:
    """The function app of the tests: there is no emulator of Azure's."""
    from tests.servers.azure_app import HOST_KEY, SYSTEM_KEY, azure_app

    with azure_app() as app:
        keys = {"the-host-key-of-the-app": HOST_KEY, "the-system-key-durabletask_extension": SYSTEM_KEY}
        yield Engine({"https://images.azurewebsites.net": app.url, **keys})


@contextmanager
def _ec2(request: pytest.FixtureRequest, folder: Path) -> Iterator[Engine]:
    """moto, whose instances boot here: each is a process."""
    from tests.servers.booted_machines import booted_machines
    from tests.servers.moto import IMAGE

    server: MotoServer = request.getfixturevalue("moto")
    server.reset()
    keys = "access_key: testing\n    secret_key: testing"
    here = f"poll: 200ms\n    live_prices: false\n    image: {IMAGE}\n    endpoint_url: {server.url}\n    {keys}"
    with booted_machines(server, folder / "machines") as machines:
        yield Engine({"disk: 64GiB": here}, server_hooks={"machines": machines.join})


@contextmanager
def _cloud_init(request: pytest.FixtureRequest, folder: Path) -> Iterator[Engine]:
    """moto, whose instances boot here: in each the real cloud-init runs its user data."""
    from tests.servers.aws_faults import aws_faults
    from tests.servers.cloud_init import CloudInitMachine, skip_without_cloud_init
    from tests.servers.job_machines import job_machines
    from tests.servers.moto import IMAGE

    skip_without_cloud_init()
    server: MotoServer = request.getfixturevalue("moto")
    server.reset()
    with aws_faults(server.url) as proxy, job_machines(server, folder / "machines", CloudInitMachine) as machines:
        proxy.consoles = machines.console
        keys = "access_key: testing\n    secret_key: testing"
        here = f"poll: 200ms\n    live_prices: false\n    image: {IMAGE}\n    endpoint_url: {proxy.url}\n    {keys}"
        yield Engine({"disk: 64GiB": here})


@contextmanager
def _metal(_: pytest.FixtureRequest, __: Path) -> Iterator[Engine]:
    """Two machines that are off, each with a controller of its own."""
    from tests.servers.redfish import PASSWORD, USER, redfish_server

    with redfish_server("rack1-u3") as third, redfish_server("rack1-u4") as fourth:
        addresses = {"https://10.0.1.3": third.url, "https://10.0.1.4": fourth.url}
        yield Engine({**addresses, "user: dovetail": f"user: {USER}", "change-me": PASSWORD})


@contextmanager
def _monitoring(_: pytest.FixtureRequest, __: Path) -> Iterator[Engine]:
    """A receiver of traces; promtool has to be installed."""
    from tests.patience import wait_for
    from tests.servers.otlp_collector import otlp_collector
    from tests.servers.prometheus import skip_without_prometheus

    skip_without_prometheus()
    with otlp_collector() as collector:

        def look() -> None:
            names = {span.name for span in wait_for(lambda: collector.of("hello"), "the trace of hello")}
            above = {"submit to running", "POST /api/v1/workloads", "admission", "task 0"}
            assert names - {"start"} == above | {"queue", "decision", "durable", "bind"}

        yield Engine({"http://127.0.0.1:4318/v1/traces": collector.url}, hooks={"trace of hello": look})


#: By the name of the page. Tests of one engine run on one worker, in the group of this name.
ENGINES: dict[str, Callable[[pytest.FixtureRequest, Path], AbstractContextManager[Engine]]] = {
    "docker": _docker,
    "libvirt": _libvirt,
    "slurm": _slurm,
    "kubernetes": _kubernetes,
    "network": _network,
    "pbs": _pbs,
    "azure": _azure,
    "gcp": _gcp,
    "lambda": _lambda,
    "azure-functions": _azure_functions,
    "ec2": _ec2,
    "cloud-init": _cloud_init,
    "clouds": _ec2,
    "metal": _metal,
    "monitoring": _monitoring,
}
