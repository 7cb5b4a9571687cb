"""A real server under load, struck by faults at random moments; what became of the work is audited at the end.

The server is `dovetail serve` in its own process, with SQLite and the local backend, on a small disk of its own. After
each fault it must serve again: it says that it is ready, and the load gets a submission accepted.
"""

import random
import shutil
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.e2e.kills.audit import Evidence, audit
from tests.e2e.kills.command_record import CommandRecord
from tests.e2e.kills.faults import DISK_FAULTS, FAULTS, Fault, Scene, kill
from tests.e2e.kills.load import Load
from tests.e2e.server_process import ServerProcess
from tests.patience import wait_for
from tests.servers.leftovers import remove_folder
from tests.servers.small_disk import SmallDisk

from dovetail.backends.local.supervisor.run_files import DOORBELL, INPUT
from dovetail.client import Client

TOKEN = "kills-" + "0123456789abcdef" * 2
FIRST_KILLS = 3
LONGEST_CALM_S = 0.4
PAGE = 1000


@dataclass
class KillReport:
    """What was done, and what is wrong. `without`: which faults could not be tried here, and why."""

    seed: int
    faults: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    cancelled: int = 0
    began: int = 0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)
    without: str = ""

    def add(self, other: "KillReport") -> None:
        self.faults += other.faults
        self.acknowledged += other.acknowledged
        self.cancelled += other.cancelled
        self.began += other.began
        self.seconds += other.seconds
        self.wrong += other.wrong
        self.without = self.without or other.without

    def to_dict(self) -> dict[str, object]:
        return asdict(self) | {"faults": dict(self.faults), "all_faults": self.faults.total()}

    def __str__(self) -> str:
        done = ", ".join(f"{count} × {name.replace('_', ' ')}" for name, count in sorted(self.faults.items()))
        rate = 60 * self.faults.total() / max(self.seconds, 1.0)
        lines = [
            f"{self.faults.total()} faults in {self.seconds:.0f} s ({rate:.0f} a minute), seed {self.seed}: {done}",
            f"{self.acknowledged} workloads accepted, {self.cancelled} of them cancelled; {self.began} attempts began",
            *([f"not tried: {self.without}"] if self.without else []),
        ]
        return "\n".join([*lines, *self.wrong])


class KillRun:
    """One server and one load, over and over struck. `pause_s`: between two requests of the load. `keep`: where to copy
    everything if something is wrong."""

    def __init__(self, folder: Path, seed: int, pause_s: float, keep: Path | None = None) -> None:
        self._folder, self._keep = folder, keep
        self._commands = CommandRecord(folder)
        disk = SmallDisk(folder / "disk")
        server = ServerProcess(folder, _settings(folder), data=disk.path / "data")
        runs = server.data / "backends" / "local"
        self._scene = Scene(server, disk, runs, random.Random(seed))
        self._load = Load(server.url, TOKEN, self._commands, seed, pause_s)
        self._client = Client(server.url, TOKEN)
        self._judged = False
        self.report = KillReport(seed)

    def run(self, enough: Callable[[KillReport], bool]) -> KillReport:
        """Faults until it is enough, then the audit. Raises AssertionError if the server did not serve again."""
        began = time.monotonic()
        with ExitStack() as stack:
            stack.callback(self._tidy)
            self._start()
            faults = FAULTS
            if self._scene.disk.why_none:
                self.report.without = f"full disks ({self._scene.disk.why_none})"
            else:
                faults = {**FAULTS, **DISK_FAULTS}
            while not enough(self.report):
                self._strike(self._scene.chance.choices(list(faults), list(faults.values()))[0])
                self.report.seconds = time.monotonic() - began
            self._load.stop()
            self._wait_until_idle()
            self._judge()
            self.report.seconds = time.monotonic() - began
        return self.report

    def _start(self) -> None:
        """The first start makes the database, and is killed meanwhile as often as any other."""
        scene, server = self._scene, self._scene.server
        server.migrates_anew = True
        for _ in range(FIRST_KILLS):
            server.start(wait=False)
            scene.wait(scene.start_s)
            server.kill()
            self.report.faults["kill_while_first_starting"] += 1
        server.start(cold=True)  # so that those after it hash in another order
        self._load.start()

    def _strike(self, fault: Fault) -> None:
        self._scene.wait(LONGEST_CALM_S)
        fault(self._scene)
        self.report.faults[fault.__name__] += 1
        began = time.monotonic()
        self._scene.server.wait_ready()
        if fault is kill:
            self._scene.start_s = time.monotonic() - began
        known = len(self._load.record.acknowledged)
        wait_for(lambda: len(self._load.record.acknowledged) > known or self._load.crashed, f"work after {fault}")
        rows, at = self._client.workloads(limit=100)["items"], time.time()
        for row in rows:
            self._load.record.saw(row, at)

    def _wait_until_idle(self) -> None:
        """The audit names what has not come to its end."""
        with suppress(AssertionError):
            wait_for(lambda: not self._client.workloads(unfinished=True, limit=1)["items"], "the end of all work", 0.1)

    def _judge(self) -> None:
        workloads = {}
        page = self._client.workloads(limit=PAGE)
        while True:
            workloads.update({row["id"]: row for row in page["items"]})
            if page["cursor"] is None:
                break
            page = self._client.workloads(limit=PAGE, cursor=page["cursor"])
        record = self._load.record
        tasks = {workload: self._client.tasks(workload) for workload in workloads}
        placed_at = {
            f"{workload}.{row['replica']}.{row['attempt']}": row["placed_at"]
            for workload in record.cancelled_at.keys() & workloads.keys()
            for row in self._client.attempts(workload)["items"]
        }
        commands = self._commands.read()
        report = self.report
        report.wrong += audit(Evidence(commands, record, workloads, tasks, placed_at, frozenset(self._scene.struck)))
        report.acknowledged, report.cancelled = len(record.acknowledged), len(record.cancelled_at)
        self._judged = True
        report.began = sum(line.what == "begin" for line in commands)

    def _tidy(self) -> None:
        self._load.ask_to_stop()
        self._client.close()
        self._scene.server.kill()
        if self._keep is not None and (self.report.wrong or not self._judged):
            ignored = shutil.ignore_patterns("ballast", DOORBELL, INPUT)
            shutil.copytree(self._folder, self._keep, ignore=ignored, symlinks=True, dirs_exist_ok=True)
        remove_folder(self._scene.disk.path)


def _settings(folder: Path) -> dict[str, object]:
    token = folder / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    return {
        "backends": {"local": {"kind": "local", "capacity": {"cpu": 64, "slots": 200}, "run_as": "server"}},
        "access": {"token_file": str(token)},
        "logging": {"level": "warning"},
    }
