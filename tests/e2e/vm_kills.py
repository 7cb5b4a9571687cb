"""A control plane that is killed again and again around the creation and the end of VMs, and what libvirt's own lists
say afterwards.

Each round submits a VM with a disk, perhaps cancels an older one, and kills the server with SIGKILL a random moment
later: before the disk is made, while the domain is defined or started, or after it. Now and then the daemon of a host
is killed, too. VMs run for ever unless they are cancelled.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import sleep
from typing import Any

from tests.contract.backends.libvirt.rig import host_of, libvirt_settings
from tests.e2e.server_process import ServerProcess
from tests.patience import wait_for
from tests.servers.libvirt import LibvirtServer
from tests.servers.tiny_guest import machine, write_kernel

from dovetail.client import Client

LONGEST_LIFE_S = 1.5
MOST_AT_ONCE = 6
CHANCE_OF_CANCEL, CHANCE_OF_DAEMON = 0.4, 0.1


@dataclass
class VmKillAudit:
    """`amid`: how many kills came after a submission and before its VM ran. `wrong`: what must not be, in words."""

    kills: int = 0
    daemon_kills: int = 0
    amid: int = 0
    started: int = 0
    wrong: list[str] = field(default_factory=list)


class VmKills:
    def __init__(self, hosts: Sequence[LibvirtServer], folder: Path, seed: int) -> None:
        self._hosts, self._chance = hosts, random.Random(seed)
        self.cluster = f"kills{seed}"
        for pool in {host.pool for host in hosts}:
            write_kernel(pool)
        backend = libvirt_settings(
            *(host_of(host, overcommit={"cpu": 50}) for host in hosts), cluster=self.cluster, look_interval_s="2s"
        )
        entry: dict[str, Any] = {"kind": "libvirt", **backend.model_dump(mode="json")}
        self._server = ServerProcess(folder, {"backends": {"vms": entry}})
        self._audit = VmKillAudit()
        self._alive: list[str] = []
        self._daemon_killed_at: set[str] = set()  # with which VM: QEMU that was just starting may have gone with it

    def run(self, kills: int) -> VmKillAudit:
        with self._server, Client(self._server.url) as client:
            for number in range(kills):
                self._round(client, f"vm-{number}")
            self._expect(lambda: self._one_each(client), "one domain for each VM that is wanted, and no other")
            for name in self._alive:
                self._cancel(client, name)
            self._expect(lambda: not self._running(), "the end of all domains")
            self._expect(lambda: not self._left(), "no domain and no disk is left", self._left)
        self._count_starts()
        return self._audit

    def _round(self, client: Client, name: str) -> None:
        chance, audit = self._chance, self._audit
        spec = machine(name=name, vm={"disks": [{"size": "1MiB"}]}).model_dump(mode="json", exclude_unset=True)
        client.submit(spec)
        self._alive.append(name)
        if len(self._alive) > MOST_AT_ONCE or (len(self._alive) > 1 and chance.random() < CHANCE_OF_CANCEL):
            self._cancel(client, self._alive.pop(chance.randrange(len(self._alive) - 1)))
        sleep(chance.uniform(0, LONGEST_LIFE_S))
        audit.amid += client.workload(name)["state"] != "running"
        self._server.kill()
        audit.kills += 1
        if chance.random() < CHANCE_OF_DAEMON:
            chance.choice(self._hosts).restart()
            audit.daemon_kills += 1
            self._daemon_killed_at.add(name)
        self._server.start()

    def _cancel(self, client: Client, name: str) -> None:
        found = client.workload(name)
        if found["finished_at"] is None:
            client.cancel(name)
        elif name not in self._daemon_killed_at:
            self._audit.wrong.append(f"{name} ended by itself: {found['state']}, {found['message']}")

    def _one_each(self, client: Client) -> bool:
        found = [client.workload(name) for name in self._alive]
        wanted = sorted(self._domain(one["id"]) for one in found if one["finished_at"] is None)
        return sorted(self._running()) == wanted

    def _domain(self, workload: int) -> str:
        """Of its first attempt: nothing that happens here ends one."""
        return f"dovetail-{self.cluster}-{workload}.0.1"

    def _running(self) -> list[str]:
        return [name for host in self._hosts for name in host.running() if self.cluster in name]

    def _left(self) -> list[str]:
        """Domains that are defined, and volumes but the output of a console, which is kept for `dovetail logs`."""
        found = {path.name for host in self._hosts for path in host.pool.iterdir() if path.suffix != ".log"}
        found.update(name for host in self._hosts for name in host.domains())
        return sorted(name for name in found if self.cluster in name)

    def _count_starts(self) -> None:
        logs = {path.stem for host in self._hosts for path in (host.folder / "log" / "qemu").glob("*.log")}
        for domain in sorted(name for name in logs if self.cluster in name):
            starts = sum(host.starts(domain) for host in self._hosts)
            self._audit.started += starts
            if starts > 1:
                self._audit.wrong.append(f"{domain} was started {starts} times")

    def _expect(self, question: Callable[[], bool], what: str, found: Callable[[], list[str]] | None = None) -> None:
        try:
            wait_for(question, what, every_s=0.2)
        except AssertionError as error:
            self._audit.wrong.append(f"{error}; there is {', '.join((found or self._running)())}")
