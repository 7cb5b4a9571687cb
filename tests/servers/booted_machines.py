"""What a cloud does with a machine that a fake only lists: it boots and runs its script.

`BootedMachines` watches the fake. It starts the script of each machine that runs as a process of this machine; when the
machine has ended, the process and all below it are killed, as those of a machine that is switched off. Dovetail is not
installed again, each "machine" has a folder of its own, and the control plane is the server of the test.
"""

import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

import psutil
from tests.servers.daemon import Daemon

from dovetail.backends.machines.settings import INSTALL

AGENT_FOLDER = "/var/lib/dovetail-agent"
PROGRAM = Path(sys.executable).parent / "dovetail"
LOOK_S = 0.1


class Listing(Protocol):
    """A fake that lists machines by name, and knows the script of each."""

    def running(self) -> dict[str, str]: ...
    def script(self, name: str) -> str: ...


class BootedMachines:
    def __init__(self, fake: Listing, folder: Path) -> None:
        self._fake, self._folder = fake, folder
        self._over = threading.Event()
        self._server: str | None = None
        self.on: dict[str, Daemon] = {}
        self.trouble: Exception | None = None

    def join(self, url: str) -> None:
        """Machines boot from now on, and their agents join this server."""
        self._server = url

    def watch(self) -> None:
        while not self._over.wait(LOOK_S):
            try:
                self._look()
            except Exception as error:  # told at the end, by the test's thread
                self.trouble = error

    def _look(self) -> None:
        running = self._fake.running() if self._server is not None else {}
        for name in running.keys() - self.on.keys():
            self.on[name] = self._boot(name)
        for name in self.on.keys() - running.keys():
            self._switch_off(name)

    def _boot(self, name: str) -> Daemon:
        disk = self._folder / name.replace("/", "-")
        disk.mkdir(parents=True)
        script = self._fake.script(name)
        script = script.replace(INSTALL, "true").replace("/opt/dovetail/bin/dovetail", str(PROGRAM))
        script = script.replace(AGENT_FOLDER, str(disk / "agent"))
        file = disk / "script"
        file.write_text(re.sub(r"--join \S+", f"--join {self._server}", script))
        machine = Daemon("console", ["sh", file], disk)
        machine.start(lambda: True)
        return machine

    def _switch_off(self, name: str) -> None:
        machine = self.on.pop(name)
        with suppress(psutil.NoSuchProcess):
            for process in psutil.Process(machine.pid).children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    process.kill()
        machine.kill()

    def close(self) -> None:
        self._over.set()
        for name in list(self.on):
            self._switch_off(name)


@contextmanager
def booted_machines(fake: Listing, folder: Path) -> Iterator[BootedMachines]:
    booted = BootedMachines(fake, folder)
    thread = threading.Thread(target=booted.watch, name="machines", daemon=True)
    thread.start()
    try:
        yield booted
    finally:
        booted._over.set()
        thread.join(10)
        booted.close()
    assert booted.trouble is None, booted.trouble
