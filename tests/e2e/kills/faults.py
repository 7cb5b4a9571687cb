"""What is done to a server: each fault strikes at a random moment, and ends with a server that was started.

Whether it serves again is seen by whoever calls. `Scene` is what the faults strike.
"""

import json
import os
import random
import signal
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.e2e.server_process import ServerProcess
from tests.servers.small_disk import SmallDisk

from dovetail.backends.local.run_folder import LocalRunFolder, RunPhase
from dovetail.backends.local.supervisor.run_files import CLAIM, RESULT
from dovetail.store.migrating import NEWEST_REVISION

LONGEST_PAUSE_S = 0.8
SUPERVISORS_AT_ONCE = 3


@dataclass
class Scene:
    """`start_s`: how long a start takes here, as the latest one showed. `struck`: keys of attempts whose supervisors
    were killed."""

    server: ServerProcess
    disk: SmallDisk
    runs: Path
    chance: random.Random
    start_s: float = 0.5
    struck: set[str] = field(default_factory=set)

    def wait(self, longest_s: float) -> None:
        time.sleep(self.chance.uniform(0, longest_s))


def kill(scene: Scene) -> None:
    scene.server.kill()
    scene.server.start(wait=False)


def kill_while_starting(scene: Scene) -> None:
    kill(scene)
    scene.wait(scene.start_s)
    kill(scene)


def kill_while_stopping(scene: Scene) -> None:
    scene.server.send_signal(signal.SIGTERM)
    scene.wait(0.2)
    kill(scene)


def kill_while_migrating(scene: Scene) -> None:
    """The database is made one of the version before, with everything that is in it."""
    scene.server.kill()
    step_back(scene.server.data / "dovetail.db")
    scene.server.start(wait=False)
    scene.wait(2 * scene.start_s)
    kill(scene)


def step_back(database: Path) -> None:
    """Undoes the newest migration. One that was interrupted has changed nothing, or everything."""
    assert NEWEST_REVISION == "0012", "a newer migration has to be undone first: say here how"
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DROP INDEX IF EXISTS ix_history_kind_seq")
        connection.execute("UPDATE alembic_version SET version_num = '0011'")
        connection.execute("COMMIT")


def terminate(scene: Scene) -> None:
    scene.server.stop()
    scene.server.start(wait=False)


def pause(scene: Scene) -> None:
    scene.server.send_signal(signal.SIGSTOP)
    scene.wait(LONGEST_PAUSE_S)
    scene.server.send_signal(signal.SIGCONT)


def kill_while_paused(scene: Scene) -> None:
    scene.server.send_signal(signal.SIGSTOP)
    scene.wait(LONGEST_PAUSE_S / 4)
    kill(scene)


def fill_disk(scene: Scene) -> None:
    scene.disk.fill()
    scene.wait(LONGEST_PAUSE_S)
    scene.disk.empty()


def kill_on_a_full_disk(scene: Scene) -> None:
    """It may come up there, or say why it cannot."""
    scene.disk.fill()
    scene.wait(LONGEST_PAUSE_S / 4)
    kill(scene)
    scene.wait(scene.start_s)
    scene.disk.empty()
    if not scene.server.alive:
        scene.server.start(wait=False)


def kill_supervisors(scene: Scene) -> None:
    for key in scene.chance.sample(found := sorted(_supervised(scene.runs)), min(SUPERVISORS_AT_ONCE, len(found))):
        with suppress(OSError, ValueError, KeyError):  # it has just ended, or was refused
            claim = json.loads((scene.runs / key / CLAIM).read_bytes())
            handle = os.pidfd_open(claim["pid"])
            try:
                if LocalRunFolder(scene.runs, key).look().phase in (RunPhase.CLAIMED, RunPhase.RUNNING):
                    scene.struck.add(key)
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
            finally:
                os.close(handle)


def _supervised(runs: Path) -> list[str]:
    """Keys of attempts that have a supervisor and no result."""
    with suppress(FileNotFoundError):
        folders = [entry for entry in os.scandir(runs) if not entry.name.startswith(".")]
        return [run.name for run in folders if _has(run.path, CLAIM) and not _has(run.path, RESULT)]
    return []


def _has(run: str, name: str) -> bool:
    return Path(run, name).exists()


Fault = Callable[[Scene], None]

FAULTS: Mapping[Fault, int] = {
    kill: 6,
    kill_while_starting: 3,
    kill_while_stopping: 3,
    kill_while_migrating: 1,
    kill_while_paused: 1,
    kill_supervisors: 2,
    terminate: 1,
    pause: 2,
}
"""How often each comes, beside the others."""

DISK_FAULTS: Mapping[Fault, int] = {fill_disk: 2, kill_on_a_full_disk: 1}
"""Those that need a disk of their own."""
