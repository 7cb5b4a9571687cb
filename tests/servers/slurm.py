"""A real Slurm cluster of four nodes on one machine: its own munge key, ports, folders and REST daemon.

Nodes n1 to n4, four cores and 4,000 MiB each. n1 and n2 hang on the switch `leaf1` and carry the feature `fast`; n3
and n4 hang on `leaf2` and have two GPUs each, which Slurm assigns one by one although nothing is behind them. Partition
`all` is the default and has every node, `gpu` the last two. slurmrestd answers on a unix socket without asking who
calls, and on TCP for callers with a token (`token()`), where the plugin for those is installed. No cgroups: jobs are
plain processes. No accounting unless it is asked for; with it, the controller forgets ended jobs within seconds. A job
whose node is slow to start it is not given up after ten seconds, which is the default: machines that test are busy.

Needs root: the daemons start jobs for their users.
"""

import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from tests.servers.accounting import Accounting
from tests.servers.daemon import START_S, Daemon, free_ports, server_folder, skip_without

NODES = ("n1", "n2", "n3", "n4")
API = "v0.0.38"

SETTINGS = """\
ClusterName=dovetail
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
{tokens}
CredType=cred/munge
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdSpoolDir={folder}/spool/%n
SlurmdPidFile={folder}/slurmd.%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
TopologyPlugin=topology/tree
JobAcctGatherType=jobacct_gather/linux
{accounting}
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/completed.log
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
GresTypes=gpu
ReturnToService=2
SlurmctldTimeout=30
MessageTimeout=60
BatchStartTimeout=60
SlurmdTimeout=30
KillWait=2
{nodes}
PartitionName=all Nodes=n[1-4] Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
PartitionName=gpu Nodes=n[3-4] MaxTime=1-00:00:00 State=UP OverSubscribe=NO
"""
EXTRAS = {"n1": "Feature=fast", "n2": "Feature=fast", "n3": "Gres=gpu:a100:2", "n4": "Gres=gpu:a100:2"}
SWITCHES = """\
SwitchName=leaf1 Nodes=n[1-2]
SwitchName=leaf2 Nodes=n[3-4]
SwitchName=spine Switches=leaf[1-2]
"""
DEVICES = """\
AutoDetect=off
NodeName=n[3-4] Name=gpu Type=a100 File={folder}/gpu[0-1]
"""


class SlurmServer:
    """munged, slurmctld, four slurmd and slurmrestd; with `accounting`, slurmdbd and its database. `more`: more lines
    for slurm.conf."""

    def __init__(self, folder: Path, *, accounting: bool = False, more: str = "") -> None:
        self.folder, self._more = folder, more
        self.settings = folder / "slurm.conf"
        self.socket = folder / "rest.sock"
        self.environment = {"SLURM_CONF": str(self.settings)}
        self._token_key = folder / "tokens.key"
        self._munge_key = folder / "munge.key"
        controller_port, self.tcp_port, *node_ports = free_ports(2 + len(NODES))
        self.accepts_tokens = _has_token_plugin()
        self.accounting = Accounting(folder, self.environment, self._token_settings) if accounting else None
        self._write_settings(controller_port, node_ports)

        munge_files = {"key-file": self._munge_key, "socket": folder / "munge.sock", "pid-file": folder / "munged.pid"}
        munge_files |= {"log-file": folder / "munge.log", "seed-file": folder / "munge.seed"}
        # Forced: it does not like folders below one that everybody may write to.
        munge = ["munged", "--foreground", "--force", *(f"--{name}={path}" for name, path in munge_files.items())]
        self.munged = self._daemon("munged", *munge)
        self.controller = self._daemon("slurmctld", "slurmctld", "-D", "-f", self.settings)
        self.nodes = {
            name: self._daemon(f"slurmd-{name}", "slurmd", "-D", "-N", name, "-f", self.settings) for name in NODES
        }
        plugins = f"openapi/{API},openapi/db{API}" if accounting else f"openapi/{API}"
        rest: list[str | Path] = ["slurmrestd", "-f", self.settings, "-s", plugins, "-a"]
        # It refuses to run as the user of Slurm itself unless told that this is meant.
        meant = {"SLURMRESTD_SECURITY": "disable_user_check"}
        self._rest = [self._daemon("slurmrestd", *rest, "rest_auth/local", f"unix:{self.socket}", **meant)]
        if self.accepts_tokens:
            # The variable makes tokens its way to speak to Slurm, so that it can pass on those of its callers.
            command = [*rest, "rest_auth/jwt", f"127.0.0.1:{self.tcp_port}"]
            self._rest.append(self._daemon("slurmrestd-tcp", *command, **meant, SLURM_JWT="daemon"))

    @property
    def _token_settings(self) -> str:
        return f"AuthAltTypes=auth/jwt\nAuthAltParameters=jwt_key={self._token_key}" if self.accepts_tokens else ""

    def _write_settings(self, controller_port: int, node_ports: list[int]) -> None:
        host = socket.gethostname().split(".")[0]
        nodes = "\n".join(
            f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=4 Boards=1 SocketsPerBoard=1 "
            f"CoresPerSocket=4 ThreadsPerCore=1 RealMemory=4000 {EXTRAS[name]} State=UNKNOWN"
            for name, port in zip(NODES, node_ports, strict=True)
        )
        said = {"host": host, "controller_port": controller_port, "folder": self.folder, "nodes": nodes}
        said |= {"accounting": "AccountingStorageType=accounting_storage/none", "tokens": self._token_settings}
        if self.accounting is not None:
            said["accounting"] = self.accounting.settings
        self.settings.write_text(SETTINGS.format(**said) + self._more)
        (self.folder / "topology.conf").write_text(SWITCHES)
        (self.folder / "gres.conf").write_text(DEVICES.format(folder=self.folder))
        for index in range(2):
            (self.folder / f"gpu{index}").symlink_to("/dev/null")
        (self.folder / "state").mkdir()
        for name in NODES:
            (self.folder / "spool" / name).mkdir(parents=True)
        for key in (self._munge_key, self._token_key):
            key.write_bytes(secrets.token_bytes(1024))
            key.chmod(0o400 if key == self._munge_key else 0o600)

    def _daemon(self, name: str, *command: str | Path, **environment: str) -> Daemon:
        return Daemon(name, command, self.folder, self.environment | environment)

    def start(self) -> None:
        self.munged.start(ready=(self.folder / "munge.sock").exists)
        if self.accounting is not None:
            self.accounting.start()
        self.controller.start(ready=self.controller_answers)
        for node in self.nodes.values():
            node.start(ready=lambda: True)
        for daemon in self._rest:
            daemon.start(ready=lambda: True)
        deadline = time.monotonic() + START_S
        while not self._all_ready():
            failed = [d for d in (*self.nodes.values(), *self._rest) if not d.alive]
            assert not failed, f"{failed[0].name} ended; its log:\n{failed[0].log_tail}"
            assert time.monotonic() < deadline, f"Slurm was not ready in {START_S:.0f} s:\n{self.controller.log_tail}"
            time.sleep(0.1)

    def controller_answers(self) -> bool:
        return "is UP" in self.call("scontrol", "ping", check=False)

    def _all_ready(self) -> bool:
        states = self.call("sinfo", "--noheader", "--Node", "--partition=all", "--format=%t", check=False).split()
        return states == ["idle"] * len(NODES) and self.socket.exists() and self._tcp_answers()

    def _tcp_answers(self) -> bool:
        if not self.accepts_tokens:
            return True
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.tcp_port)) == 0

    def call(self, *command: str, check: bool = True) -> str:
        """What one of Slurm's own commands prints about this cluster."""
        environment = {**os.environ, **self.environment}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert not check or done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
        return done.stdout

    def token(self, user: str = "root", lifespan_s: int = 3600) -> str:
        """Lets whoever has it call over TCP as that user."""
        answer = self.call("scontrol", "token", f"username={user}", f"lifespan={lifespan_s}")
        return answer.strip().removeprefix("SLURM_JWT=")

    def client(self) -> httpx.Client:
        """Speaks REST on the unix socket as root; the caller closes it."""
        transport = httpx.HTTPTransport(uds=str(self.socket), verify=False)
        return httpx.Client(base_url=f"http://slurm/slurm/{API}", transport=transport, timeout=60)

    def tcp_client(self, user: str = "root") -> httpx.Client:
        """Speaks REST over TCP with a token; the caller closes it."""
        headers = {"X-SLURM-USER-NAME": user, "X-SLURM-USER-TOKEN": self.token(user)}
        return httpx.Client(
            base_url=f"http://127.0.0.1:{self.tcp_port}/slurm/{API}", headers=headers, timeout=60, verify=False
        )

    def restart_controller(self, *, kill: bool = False) -> None:
        """Stops the controller and starts it again on its state; jobs run on meanwhile. For some seconds it has not
        heard of its nodes and starts nothing: that is waited for.

        It writes its state down every few seconds: one that is killed forgets jobs submitted since, running or not.
        """
        if kill:
            self.controller.kill()
        else:
            self.controller.stop()
        self.controller.start(ready=self.knows_its_nodes)

    def knows_its_nodes(self) -> bool:
        said = self.call("sinfo", "--noheader", "--Node", "--partition=all", "--format=%N %T", check=False).split()
        states = dict(zip(said[::2], said[1::2], strict=True))
        return all(states.get(name, "unknown") != "unknown" for name, node in self.nodes.items() if node.alive)

    def restart_node(self, name: str) -> None:
        """Kills a node's daemon and starts it again; what it started runs on and is found again."""
        self.nodes[name].kill()
        self.nodes[name].start(ready=lambda: True)

    def stop(self) -> None:
        """Ends the jobs too, except those of a node that was killed: whoever removes the folder ends them."""
        if self.controller.alive and self.munged.alive:
            self.call("scancel", "--user=root", "--full", check=False)
        for daemon in (*self._rest, *self.nodes.values(), self.controller):
            daemon.stop()
        if self.accounting is not None:
            self.accounting.stop()
        self.munged.stop()


def _has_token_plugin() -> bool:
    """Whether Debian's package of it is installed, which puts it beside the plugins that slurmctld has anyway."""
    program = shutil.which("slurmctld")
    folders = sorted(Path("/usr/lib").glob("*/slurm-wlm")) if program else []
    return any((folder / "auth_jwt.so").exists() for folder in folders)


@contextmanager
def slurm_server(*, accounting: bool = False, more: str = "") -> Iterator[SlurmServer]:
    """Started, and stopped at the end."""
    skip_without("slurmctld", "slurmd", "slurmrestd", "munged", "sinfo", root=True)
    if accounting:
        skip_without("slurmdbd", "mariadbd", "mariadb-install-db", "sacct")
    with server_folder("slurm") as folder:
        server = SlurmServer(folder, accounting=accounting, more=more)
        try:
            server.start()
            yield server
        finally:
            server.stop()
