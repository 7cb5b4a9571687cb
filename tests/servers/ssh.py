"""A real SSH server for tests: its own keys, port and folder, for the user that runs the tests, on the loopback.

It lets in whoever has its one client key, and nobody by password. `known_hosts` has its host key, so that clients can
check it strictly. What a login finds in its environment can be set between logins. Needs root, as sshd does.

A test logs in hundreds of times. So keys are exchanged in the way that costs least, and logins find another home: what
the user's own shell does when it starts may take longer than the login.
"""

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psutil
from tests.servers.daemon import Daemon, free_ports, server_folder, skip_without

SETTINGS = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
PermitUserEnvironment yes
KexAlgorithms curve25519-sha256
SetEnv HOME={folder}
"""
#: Where sshd locks up the part of itself that has not checked its caller yet; there wherever one was started before.
CELL = Path("/run/sshd")


class SshServer:
    """`identity` is the client's key."""

    def __init__(self, folder: Path, inside: int | None = None) -> None:
        (self.port,) = free_ports(1)
        self.address = f"root@127.0.0.1:{self.port}"
        self.identity, self.known_hosts = folder / "client_key", folder / "known_hosts"
        self._allowed = folder / "authorized_keys"
        for name in ("host_key", "client_key", "stranger_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
        self.stranger = folder / "stranger_key"
        self._key = (folder / "client_key.pub").read_text().strip()
        self.known_hosts.write_text(f"[127.0.0.1]:{self.port} {(folder / 'host_key.pub').read_text()}")
        settings = folder / "sshd_config"
        settings.write_text(SETTINGS.format(port=self.port, folder=folder))
        self.set_environment({})
        # It starts itself anew for every caller, by the path that it was started with.
        command: list[str | Path] = [shutil.which("sshd") or "sshd", "-D", "-e", "-f", settings]
        if inside is not None:
            command = ["nsenter", "--mount", "--uts", "--target", str(inside), *command]
        self.daemon = Daemon("sshd", command, folder)

    def set_environment(self, variables: Mapping[str, str]) -> None:
        """For logins from now on."""
        options = ",".join(f'environment="{name}={value}"' for name, value in variables.items())
        self._allow(options)

    def allow_only(self, command: str, key: str | None = None) -> None:
        """Logins from now on run this, whatever they ask for, and get nothing else. `key`: another public key."""
        self._allow(f'restrict,command="{command}"', key)

    def _allow(self, options: str, key: str | None = None) -> None:
        self._allowed.write_text(f"{options} {key or self._key}\n".lstrip())

    def start(self) -> None:
        CELL.mkdir(mode=0o755, exist_ok=True)
        self.daemon.start(ready=lambda: "Server listening" in self.daemon.log.read_text())

    def kill(self) -> None:
        """With all its sessions, as when the machine goes."""
        sessions = psutil.Process(self.daemon.pid).children(recursive=True)
        self.daemon.kill()
        for process in sessions:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue


@contextmanager
def ssh_server(inside: int | None = None) -> Iterator[SshServer]:
    """Started, and stopped at the end. `inside`: a process whose files and host name its logins see."""
    skip_without("sshd", "ssh", "ssh-keygen", root=True)
    with server_folder("ssh") as folder:
        server = SshServer(folder, inside)
        server.start()
        try:
            yield server
        finally:
            if server.daemon.alive:
                server.kill()
