"""A server and two machines with agents, each with a hypervisor that the other one reaches: VMs move between them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from tests.contract.backends.agent.rig import hypervisor_settings
from tests.contract.backends.libvirt.rig import Hosts
from tests.e2e.agent_process import AgentProcess
from tests.e2e.server_process import ServerProcess
from tests.e2e.warm_shell import run_warm
from tests.patience import wait_for
from tests.servers.tiny_guest import machine, write_kernel

from dovetail.client import Client

CLUSTERS = count(1)


class MigratingAgents:
    """Started with `running`. Nodes have the names of their hypervisors."""

    def __init__(self, folder: Path, hosts: Hosts, **libvirt: Any) -> None:
        self.hosts, self.cluster = {one.name: one for one in hosts}, f"moving-{next(CLUSTERS)}"
        write_kernel(hosts[0].pool)
        self.server = ServerProcess(folder, {"backends": {}})
        self.client = Client(self.server.url)
        self.agents = {
            one.name: AgentProcess(folder, one.name, libvirt=hypervisor_settings(one, self.cluster) | libvirt)
            for one in hosts
        }

    @contextmanager
    def plain_agent(self, name: str) -> Iterator[None]:
        """A third node, without a hypervisor."""
        agent = AgentProcess(self.server.folder, name)
        agent.start("--join", self.server.url, "--token", self.client.make_join_token(uses=1, ttl="10m")["token"])
        try:
            wait_for(lambda: name in [node["name"] for node in self.client.nodes()], "the node")
            yield
        finally:
            agent.end()
            self.client.remove_node(name)

    def told(self, *words: str) -> str:
        """What the command prints, to either side."""
        found = run_warm(list(words), {**os.environ, "COLUMNS": "200", "DOVETAIL_URL": self.client.url})
        return str(found.stdout) + str(found.stderr)

    def start_vm(self, name: str, node: str, **fields: Any) -> str:
        """Its domain, once it runs there."""
        spec = machine(text=f"up {name}\n", name=name, constraints=[{"prefer": f'node.name == "{node}"'}], **fields)
        id_ = self.client.submit(spec.model_dump(mode="json", exclude_unset=True))[0]["id"]
        wait_for(lambda: self.client.workload(name)["state"] == "running", f"{name} runs")
        assert self.node_of(name) == node
        wait_for(lambda: f"up {name}" in self.client.logs(name).text, f"{name} has booted")
        return f"dovetail-{self.cluster}-{id_}.0.1"

    def node_of(self, name: str) -> str | None:
        return self.client.tasks(name)[0]["node"]

    def where(self, domain: str) -> list[str]:
        """The hosts on which it runs, asked of libvirt itself."""
        return [name for name, host in self.hosts.items() if domain in host.running()]

    def arrived(self, name: str, domain: str, node: str) -> bool:
        task = self.client.tasks(name)[0]
        known = (task["node"], task["state"], task["attempt"])
        return known == (node, "running", 1) and self.where(domain) == [node]

    def open_moves(self) -> list[str]:
        """What an agent has not been told the end of."""
        import sqlite3

        found = []
        for agent in self.agents.values():
            with sqlite3.connect(f"file:{agent.data / 'vms' / 'attempts.db'}?mode=ro", uri=True) as journal:
                found += [row[0] for row in journal.execute("SELECT key FROM peer_moves UNION SELECT key FROM moves")]
        return found

    def ends(self, name: str, domain: str) -> None:
        """Cancel it: its end is told, and nothing of it is left but its log."""
        self.client.cancel(name)
        wait_for(lambda: self.client.workload(name)["state"] == "cancelled", f"{name} has ended")
        wait_for(
            lambda: not [one for host in self.hosts.values() for one in host.domains() if one == domain], "no domain"
        )
        [pool] = {host.pool for host in self.hosts.values()}
        wait_for(lambda: not [path for path in pool.glob(f"{domain}*") if path.suffix != ".log"], "no disk is left")


@contextmanager
def migrating_agents(folder: Path, hosts: Hosts, **libvirt: Any) -> Iterator[MigratingAgents]:
    """`libvirt`: settings of both, beside the usual ones."""
    found = MigratingAgents(folder, hosts, **libvirt)
    with found.server, found.client:
        try:
            for agent in found.agents.values():
                token = found.client.make_join_token(uses=1, ttl="10m")["token"]
                agent.start("--join", found.server.url, "--token", token)
            wait_for(
                lambda: (
                    all("vm" in found.client.node(node["name"])["definition"]["kinds"] for node in found.client.nodes())
                    and len(found.client.nodes()) == len(hosts)
                ),
                "both nodes take VMs",
            )
            yield found
        finally:
            for agent in found.agents.values():
                if agent.process is not None:
                    agent.end()
