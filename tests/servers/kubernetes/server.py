"""A real Kubernetes API for tests: kube-apiserver over etcd, with its own ports, folder and certificates.

No kubelet, no controllers: nodes are objects that a test creates and whose status it patches, pods are bound and never
run, and nothing is garbage-collected. Anyone with a token may do anything unless `authorization` says RBAC. Etcd does
not wait for the disk unless `durable`, which benchmarks want and tests do not: killed servers lose nothing either way.

`restart` kills and starts again on the same data, at the same address. kube-scheduler can be started beside it.
"""

import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest
import yaml
from tests.servers.certificates import Authority
from tests.servers.daemon import Daemon, free_ports, server_folder, skip_without
from tests.servers.kubernetes.programs import command_of

NOT_BUILT = "the Kubernetes programs are not built"
ADMINISTRATOR = "admin"
USERS = {ADMINISTRATOR: ["system:masters"], "nobody": []}
"""Who has a token, and the groups they are in; `nobody` may do only what a binding allows."""


class KubeServer:
    """etcd and kube-apiserver, and any kube-scheduler that a test starts."""

    def __init__(
        self,
        folder: Path,
        *,
        authorization: Literal["AlwaysAllow", "RBAC"] = "AlwaysAllow",
        durable: bool = False,
        flags: Sequence[str] = (),
    ) -> None:
        self._folder = folder
        etcd_port, peer_port, self.port = free_ports(3)
        self.url = f"https://127.0.0.1:{self.port}"
        authority = Authority(folder / "certificates")
        self.authority = authority.certificate
        serving = authority.server("server")
        accounts = authority.client("service-accounts")
        tokens = folder / "tokens.csv"
        tokens.write_text("".join(f'{token(user)},{user},{user},"{",".join(USERS[user])}"\n' for user in USERS))
        self.kubeconfig = self.kubeconfig_for(ADMINISTRATOR)

        self.etcd_url = f"http://127.0.0.1:{etcd_port}"
        etcd: list[str | Path] = ["--data-dir", folder / "etcd", "--listen-client-urls", self.etcd_url]
        etcd += ["--advertise-client-urls", self.etcd_url, "--listen-peer-urls", f"http://127.0.0.1:{peer_port}"]
        self.etcd = Daemon("etcd", [*_command("etcd"), *etcd, *([] if durable else ["--unsafe-no-fsync"])], folder)

        options = {
            "etcd-servers": self.etcd_url,
            "bind-address": "127.0.0.1",
            "advertise-address": "127.0.0.1",
            "secure-port": self.port,
            "tls-cert-file": serving.certificate,
            "tls-private-key-file": serving.key,
            "token-auth-file": tokens,
            "authorization-mode": authorization,
            "service-cluster-ip-range": "10.96.0.0/16",
            "service-account-issuer": "https://kubernetes.default.svc",
            "service-account-key-file": accounts.certificate,
            "service-account-signing-key-file": accounts.key,
            # All of them wait for controllers that do not run here.
            "disable-admission-plugins": "ServiceAccount,TaintNodesByCondition,StorageObjectInUseProtection",
            "endpoint-reconciler-type": "none",
        }
        command = [*_command("kube-apiserver"), *(f"--{name}={value}" for name, value in options.items()), *flags]
        self.apiserver = Daemon("kube-apiserver", command, folder)
        self._schedulers: list[KubeScheduler] = []

    def start(self) -> None:
        if not self.etcd.alive:
            with httpx.Client(base_url=self.etcd_url, verify=False) as client:
                self.etcd.start(ready=lambda: client.get("/health").is_success)
        with self.client() as client:
            self.apiserver.start(ready=lambda: client.get("/readyz").is_success)

    def restart(self, *, etcd: bool = False) -> None:
        """Kills the API server, and etcd too if asked, and starts them again on the same data."""
        self.apiserver.kill()
        if etcd:
            self.etcd.kill()
        self.start()

    def stop(self) -> None:
        # The API server waits for its watchers to leave; nobody here needs that.
        for daemon in (*(scheduler.daemon for scheduler in self._schedulers), self.apiserver, self.etcd):
            daemon.kill()

    def client(self, user: str = ADMINISTRATOR) -> httpx.Client:
        """Speaks REST with that user's token; the caller closes it."""
        headers = {"Authorization": f"Bearer {token(user)}"}
        trust = ssl.create_default_context(cafile=str(self.authority))
        return httpx.Client(base_url=self.url, headers=headers, verify=trust, timeout=60)

    def kubeconfig_for(self, user: str) -> Path:
        """A file for any Kubernetes client, to call as that user."""
        path = self._folder / f"kubeconfig-{user}.yaml"
        names = {"cluster": "test", "user": user}
        cluster = {"server": self.url, "certificate-authority": str(self.authority)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": user, "user": {"token": token(user)}}],
            "contexts": [{"name": "test", "context": names}],
            "current-context": "test",
        }
        path.write_text(yaml.safe_dump(config))
        return path

    def start_scheduler(self, config: Mapping[str, Any] | None = None, flags: Sequence[str] = ()) -> "KubeScheduler":
        """A kube-scheduler of this server, stopped by the caller (or `with`) or with the server.

        `config` is laid over its KubeSchedulerConfiguration, which elects no leader.
        """
        scheduler = KubeScheduler(self._folder, self.kubeconfig, config or {}, flags, number=len(self._schedulers))
        self._schedulers.append(scheduler)
        scheduler.start()
        return scheduler


class KubeScheduler:
    """A stock kube-scheduler; its metrics are at `url`/metrics for the administrator's token."""

    def __init__(
        self, folder: Path, kubeconfig: Path, config: Mapping[str, Any], flags: Sequence[str], number: int
    ) -> None:
        (port,) = free_ports(1)
        self.url = f"https://127.0.0.1:{port}"
        settings = folder / f"scheduler-{number}.yaml"
        usual = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": str(kubeconfig)},
            "leaderElection": {"leaderElect": False},
        }
        settings.write_text(yaml.safe_dump({**usual, **config}))
        command = [*_command("kube-scheduler"), f"--config={settings}", "--bind-address=127.0.0.1"]
        command += [f"--secure-port={port}", f"--cert-dir={folder / f'scheduler-{number}'}"]
        command += [f"--authentication-kubeconfig={kubeconfig}", f"--authorization-kubeconfig={kubeconfig}", *flags]
        self.daemon = Daemon(f"kube-scheduler-{number}", command, folder)

    def start(self) -> None:
        # Its certificate is its own, made at the start: there is nobody to check it with.
        with httpx.Client(base_url=self.url, verify=False) as client:
            self.daemon.start(ready=lambda: client.get("/readyz").is_success)

    def stop(self) -> None:
        self.daemon.stop()

    def __enter__(self) -> "KubeScheduler":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def token(user: str) -> str:
    return f"token-of-{user}"


def _command(program: str) -> list[str]:
    command = command_of(program)
    if command is None:
        pytest.skip(NOT_BUILT)
    return command


@contextmanager
def kube_server(
    *, authorization: Literal["AlwaysAllow", "RBAC"] = "AlwaysAllow", durable: bool = False, flags: Sequence[str] = ()
) -> Iterator[KubeServer]:
    """Started, and stopped at the end."""
    skip_without("openssl")
    with ExitStack() as stack:
        folder = stack.enter_context(server_folder("kube"))
        server = KubeServer(folder, authorization=authorization, durable=durable, flags=flags)
        stack.callback(server.stop)
        server.start()
        yield server
