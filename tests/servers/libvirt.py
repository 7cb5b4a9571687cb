"""Hypervisors for tests: libvirt daemons on one machine, each with folders, a host name and an identity of its own.

A host is a libvirtd in a mount and UTS namespace, with its own /etc/libvirt, /var/lib/libvirt, /var/log/libvirt,
/var/cache/libvirt and /run/libvirt. It listens on a unix socket in its folder and, for other hosts that migrate to it,
on a loopback port. With an `authority` it also listens with TLS, for clients that show a certificate of that. It runs
QEMU under emulation, so nothing here needs KVM. Two hosts of one folder share the storage pool `default`, as with NFS.
Needs root. What boots there is in `tiny_guest.py`.
"""

import importlib.util
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.servers.certificates import Authority
from tests.servers.daemon import Daemon, free_ports, server_folder, skip_without

BOUND = {
    "etc": "/etc/libvirt",
    "lib": "/var/lib/libvirt",
    "log": "/var/log/libvirt",
    "cache": "/var/cache/libvirt",
    "run": "/run/libvirt",
}
QEMU_CONF = """
user = "root"
group = "root"
security_driver = "none"
cgroup_controllers = []
namespaces = []
stdio_handler = "file"
migration_port_min = {low}
migration_port_max = {high}
"""
LIBVIRTD_CONF = """
host_uuid = "{host_uuid}"
listen_tcp = 1
listen_addr = "127.0.0.1"
tcp_port = "{port}"
auth_tcp = "none"
auth_unix_rw = "none"
unix_sock_rw_perms = "0700"
"""
WITHOUT_TLS = "listen_tls = 0\n"
WITH_TLS = """
listen_tls = 1
tls_port = "{port}"
ca_file = "{ca}"
cert_file = "{certificate}"
key_file = "{key}"
tls_no_sanity_certificate = 1
"""


class LibvirtServer:
    """A daemon that can be killed, paused and started again: its VMs run on."""

    def __init__(self, name: str, folder: Path, pool: Path, authority: Authority | None = None) -> None:
        self.name = name
        self.pool = pool
        self.authority, self.certificate = authority, None if authority is None else authority.server("hypervisor")
        self.folder = folder / name
        port, low, secure = free_ports(3)
        for part in BOUND:
            self._at(part).mkdir(parents=True, exist_ok=True)
        (self.folder / "etc" / "qemu.conf").write_text(QEMU_CONF.format(low=min(low, 65000), high=min(low, 65000) + 64))
        settings = LIBVIRTD_CONF.format(host_uuid=uuid.uuid4(), port=port) + self._tls(secure)
        (self.folder / "etc" / "libvirtd.conf").write_text(settings)
        self.socket = self.folder / "run" / "libvirt-sock"
        self.uri = f"qemu+unix:///system?socket={self.socket}"
        self.peer_uri = f"qemu+tcp://127.0.0.1:{port}/system"
        self.tls_uri = f"qemu+tls://127.0.0.1:{secure}/system"
        mounts = " && ".join(f"mount --bind {self._at(part)} {path}" for part, path in BOUND.items())
        start = f"exec libvirtd --listen --pid-file {self.folder / 'libvirtd.pid'} --config /etc/libvirt/libvirtd.conf"
        pages = self.folder / "hugepages"  # libvirt looks for a mount when it starts; not every kernel has this one
        pages.mkdir(parents=True, exist_ok=True)
        huge = f"{{ mount -t hugetlbfs none {pages} || true; }}"
        script = f"mount --make-rprivate / && {mounts} && {huge} && hostname {name} && {start}"
        for path in BOUND.values():
            Path(path).mkdir(parents=True, exist_ok=True)
        self.daemon = Daemon(name, ["unshare", "--mount", "--uts", "sh", "-c", script], self.folder)

    def _tls(self, port: int) -> str:
        if self.authority is None or self.certificate is None:
            return WITHOUT_TLS
        own = self.certificate
        return WITH_TLS.format(port=port, ca=self.authority.certificate, certificate=own.certificate, key=own.key)

    @contextmanager
    def expired(self) -> Iterator[None]:
        """Its certificate is one whose time is over; it reads that when it starts."""
        assert self.authority is not None
        assert self.certificate is not None
        own = self.certificate.certificate
        before = own.read_bytes()
        self.authority.expire(self.certificate)
        try:
            self.restart()
            yield
        finally:
            own.write_bytes(before)
            self.restart()

    def _at(self, part: str) -> Path:
        """What libvirt finds out about emulators takes seconds and is the same for all hosts."""
        return self.folder.parent / part if part == "cache" else self.folder / part

    def connect(self) -> Any:
        """A connection beside those of the backend; the caller closes it."""
        import libvirt

        return libvirt.open(self.uri)

    def start(self) -> None:
        self.daemon.start(ready=self._answers)
        connection = self.connect()
        try:
            if "default" not in [pool.name() for pool in connection.listAllStoragePools()]:
                xml = f"<pool type='dir'><name>default</name><target><path>{self.pool}</path></target></pool>"
                connection.storagePoolDefineXML(xml).setAutostart(1)
            connection.getCapabilities()  # tries out all emulators, once for each cache folder
            found = connection.storagePoolLookupByName("default")
            if not found.isActive():
                found.create()
        finally:
            connection.close()

    def _answers(self) -> bool:
        import libvirt

        if not self.socket.exists():
            return False
        try:
            self.connect().close()
        except libvirt.libvirtError:
            return False
        return True

    def restart(self) -> None:
        """Kills the daemon and starts it again."""
        self.daemon.kill()
        self.socket.unlink(missing_ok=True)
        self.start()

    @contextmanager
    def without(self, path: str) -> Iterator[None]:
        """This host has nothing below a folder."""
        inside = ["nsenter", "--mount", "--target", str(self.daemon.pid)]
        subprocess.run([*inside, "mount", "-t", "tmpfs", "none", path], check=True, timeout=60)
        try:
            yield
        finally:
            subprocess.run([*inside, "umount", path], check=True, timeout=60)

    def running(self) -> list[str]:
        """The names of the domains that run, asked of the daemon."""
        return self._domains(running=True)

    def domains(self) -> list[str]:
        """The names of all domains."""
        return self._domains(running=False)

    def _domains(self, *, running: bool) -> list[str]:
        connection = self.connect()
        try:
            return [domain.name() for domain in connection.listAllDomains(1 if running else 0)]
        finally:
            connection.close()

    def starts(self, domain: str) -> int:
        """How often a domain was started here, by QEMU's log."""
        log = self.folder / "log" / "qemu" / f"{domain}.log"
        return log.read_text(errors="replace").count("starting up libvirt version") if log.exists() else 0

    def stop(self) -> None:
        """Ends the VMs too."""
        import libvirt

        if not self.daemon.alive:
            self.start()
        connection = self.connect()
        for domain in connection.listAllDomains(1):
            with suppress(libvirt.libvirtError):  # it may have ended meanwhile
                domain.destroy()
        connection.close()
        self.daemon.stop()


def skip_without_libvirt() -> None:
    skip_without("libvirtd", "virsh", "qemu-system-x86_64", "qemu-img", "unshare", "openssl", root=True)
    if importlib.util.find_spec("libvirt") is None:
        pytest.skip("the Python package libvirt-python is not installed (Debian: libvirt-dev to build it)")


@contextmanager
def libvirt_hosts(*names: str) -> Iterator[list[LibvirtServer]]:
    """Started, and stopped at the end. The last also listens with TLS."""
    skip_without_libvirt()
    with server_folder("libvirt") as folder:
        pool = folder / "pool"
        pool.mkdir()
        authority = Authority(folder / "certificates")
        servers = [LibvirtServer(name, folder, pool, authority if name == names[-1] else None) for name in names]
        started: list[LibvirtServer] = []
        try:
            for server in servers:
                server.start()
                started.append(server)
            yield servers
        finally:
            for server in started:
                server.stop()
