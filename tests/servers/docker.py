"""A real Docker engine for tests: its own folder, socket and containers, beside any that the machine runs.

It leaves the host's network alone (no bridge, no firewall rules), so containers use `--network none` or `host`. There
is no registry: the image `busybox:local` is made from the machine's static busybox. Several at once are several hosts.
With `tls` it also listens on TCP, for clients that show a certificate of its authority. containerd runs beside the
engine, as on any Docker host, so that killing the engine leaves the containers as they are. Needs root.
"""

import io
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from tests.servers.certificates import Authority, Certificate
from tests.servers.daemon import Daemon, free_ports, server_folder, skip_without

IMAGE = "busybox:local"
APPLETS = ("cat", "dd", "echo", "env", "false", "sh", "sleep", "touch", "true", "yes")


class DockerServer:
    """An engine that can be killed and started again on the same data."""

    def __init__(self, folder: Path, *, tls: bool = False, live_restore: bool = False) -> None:
        self.socket = folder / "docker.sock"
        self.url = f"unix://{self.socket}"
        self.tcp_url = ""
        self.authority: Path | None = None
        self.client_certificate: Certificate | None = None
        self._containers = folder / "containerd.sock"
        command: list[str | Path] = ["containerd", "--address", self._containers]
        command += ["--root", folder / "containers", "--state", folder / "state"]
        self.containerd = Daemon("containerd", command, folder)
        command = ["dockerd", "--containerd", self._containers, "--host", self.url]
        command += ["--data-root", folder / "data", "--exec-root", folder / "exec", "--pidfile", folder / "docker.pid"]
        command += ["--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false"]
        # What runs in tests has no reason to be asked twice: at the end of the engine, containers get a second.
        command += ["--shutdown-timeout=1"]
        if live_restore:
            command += ["--live-restore"]
        if tls:
            authority = Authority(folder / "certificates")
            own = authority.server("server")
            (port,) = free_ports(1)
            self.tcp_url = f"tcp://127.0.0.1:{port}"
            self.authority = authority.certificate
            self.client_certificate = authority.client("client")
            command += ["--host", self.tcp_url, "--tlsverify", "--tlscacert", authority.certificate]
            command += ["--tlscert", own.certificate, "--tlskey", own.key]
        self.daemon = Daemon("dockerd", command, folder)

    def client(self) -> httpx.Client:
        """Speaks the Engine API on the unix socket; the caller closes it."""
        return httpx.Client(
            base_url="http://docker", transport=httpx.HTTPTransport(uds=str(self.socket), verify=False), timeout=60
        )

    def start(self) -> None:
        if not self.containerd.alive:
            self.containerd.start(ready=self._containers.exists)
        with self.client() as client:
            self.daemon.start(ready=lambda: client.get("/_ping").text == "OK")
            if client.get(f"/images/{IMAGE}/json").status_code == httpx.codes.NOT_FOUND:
                repository, tag = IMAGE.split(":")
                options = {"fromSrc": "-", "repo": repository, "tag": tag}
                client.post("/images/create", params=options, content=busybox_root()).raise_for_status()

    def restart(self) -> None:
        """Kills the engine and starts it again; with `live_restore` containers run on, else it ends them."""
        self.daemon.kill()
        self.start()

    def stop(self) -> None:
        """Ends the containers too, which an engine that was killed has to be started again for."""
        if not self.daemon.alive:
            self.start()
        with self.client() as client:
            for container in client.get("/containers/json", params={"all": "true"}).json():
                client.delete(f"/containers/{container['Id']}", params={"force": "true", "v": "true"})
        self.daemon.stop()
        self.containerd.stop()


def busybox_root() -> bytes:
    """The root file system of the image, as a tar."""
    program = shutil.which("busybox")
    assert program is not None, "busybox is not installed"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name in ("bin", "etc", "tmp"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(folder)
        archive.add(Path(program).resolve(), "bin/busybox")
        for applet in APPLETS:
            link = tarfile.TarInfo(f"bin/{applet}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            archive.addfile(link)
    return packed.getvalue()


def _busybox_is_static() -> bool:
    """In a container there are no libraries; a program that needs them names its loader near the start of its file."""
    with Path(shutil.which("busybox") or "").open("rb") as program:
        return b"/ld-" not in program.read(4096)


@contextmanager
def docker_server(*, tls: bool = False, live_restore: bool = False) -> Iterator[DockerServer]:
    """Started, and stopped at the end."""
    skip_without("dockerd", "containerd", "runc", "busybox", "openssl", root=True)
    if not _busybox_is_static():
        pytest.skip("a static busybox is not installed")
    with server_folder("docker") as folder:
        server = DockerServer(folder, tls=tls, live_restore=live_restore)
        server.start()
        try:
            yield server
        finally:
            server.stop()
