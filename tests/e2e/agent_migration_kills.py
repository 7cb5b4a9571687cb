"""Server and agents that are killed again and again around live migrations, and what libvirt's own lists say then.

Each round asks for a migration of one VM to the other host and kills the server, the source's agent, the target's, or
two of them with SIGKILL a random moment later: before anything was begun, while libvirt sends the memory, or when it
has arrived and not everybody knows. libvirt goes on meanwhile. After each round the VM must run once, where the server
says, as the same attempt; at the end a cancellation must reach it, and nothing may be left.
"""

import random
from dataclasses import dataclass, field
from time import sleep

from tests.e2e.migrating_agents import MigratingAgents
from tests.patience import wait_for

from dovetail.client import ConnectError, DovetailError

LONGEST_LIFE_S = 0.6
LONGEST_AWAY_S = 1.5
KILLED = ("server", "source", "target", "server source", "server target", "source target")


@dataclass
class MigrationKillAudit:
    """`amid`: how many kills came before the server knew the outcome. `wrong`: what must not be, in words."""

    kills: list[str] = field(default_factory=list)
    amid: int = 0
    arrived: int = 0
    wrong: list[str] = field(default_factory=list)


class AgentMigrationKills:
    def __init__(self, rig: MigratingAgents, seed: int) -> None:
        self._rig, self._chance, self._name = rig, random.Random(seed), f"survivor-{seed}"
        self._audit = MigrationKillAudit()

    def run(self, kills: int) -> MigrationKillAudit:
        rig = self._rig
        domain = rig.start_vm(self._name, "hv1", vm={"disks": [{"size": "1MiB"}]})
        starts = sum(host.starts(domain) for host in rig.hosts.values())
        for number in range(kills):
            self._round(domain, KILLED[number % len(KILLED)])
        moved = sum(host.starts(domain) for host in rig.hosts.values()) - starts
        if moved < self._audit.arrived:
            self._audit.wrong.append(f"{self._audit.arrived} arrivals, but QEMU was started {moved} times")
        rig.ends(self._name, domain)
        return self._audit

    def _round(self, domain: str, killed: str) -> None:
        rig, chance, audit = self._rig, self._chance, self._audit
        [source] = rig.where(domain)
        [target] = [name for name in rig.hosts if name != source]
        wait_for(lambda: self._asked(target), "the server hears both agents, and takes the wish")
        sleep(chance.uniform(0, LONGEST_LIFE_S))
        audit.amid += rig.node_of(self._name) == source
        audit.kills.append(killed)
        agents = [rig.agents[name] for word, name in (("source", source), ("target", target)) if word in killed]
        for agent in agents:
            agent.end()
        if "server" in killed:
            rig.server.kill()
        sleep(chance.uniform(0, LONGEST_AWAY_S))
        for agent in agents:
            agent.start()
        if "server" in killed:
            rig.server.start()
        what = f"round {len(audit.kills)}, {killed} killed"
        try:
            wait_for(self._is_at_rest, f"{what}: it runs, and no move is open", every_s=0.2)
        except AssertionError as error:
            audit.wrong.append(f"{error}: {self._seen(domain)}")
            return
        task = rig.client.tasks(self._name)[0]
        if (where := rig.where(domain)) != [task["node"]] or task["attempt"] != 1:
            audit.wrong.append(f"{what}: {self._seen(domain)}")
        audit.arrived += where == [target]

    def _asked(self, target: str) -> bool:
        try:
            self._rig.client.migrate_vm(self._name, target)
        except DovetailError as error:
            if error.status not in (409, 503):
                raise
            return False
        return True

    def _is_at_rest(self) -> bool:
        try:
            task = self._rig.client.tasks(self._name)[0]
        except (ConnectError, DovetailError):
            return False
        return task["state"] == "running" and not self._rig.open_moves()

    def _seen(self, domain: str) -> str:
        task = self._rig.client.tasks(self._name)[0]
        known = f"the server says {task['state']} on {task['node']}, attempt {task['attempt']}, {task['message']}"
        return f"{known}; libvirt says {self._rig.where(domain)}; open moves {self._rig.open_moves()}"
