"""Machines that a fake of a cloud lists, and that run their user data: each boots here, and powers itself off.

`ScriptMachine` runs the user data itself, as a process. `CloudInitMachine` (`cloud_init.py`) lets cloud-init run it.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

import psutil
from tests.servers.daemon import LEASH

LOOK_S = 0.05
OFF = "off"


class JobMachine(Protocol):
    """`runs`: it is not off yet. `kill`: as by its plug, with all that runs on it."""

    def start(self) -> None: ...
    def console(self) -> str: ...
    @property
    def runs(self) -> bool: ...
    def kill(self) -> None: ...


class ScriptMachine:
    """The user data as a process of this machine, with its paths below a folder; the console is a file there."""

    def __init__(self, folder: Path, user_data: str) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        script = user_data.replace("/var/lib/dovetail-job", f"{folder}/job")
        script = script.replace("/dev/console", f"{folder}/console").replace("/var/lib/cloud/", f"{folder}/cloud/")
        (folder / "script").write_text(script)
        (folder / "console").touch()
        (folder / "bin").mkdir()
        poweroff = folder / "bin" / "poweroff"
        poweroff.write_text(f"#!/bin/sh\ntouch {folder}/{OFF}\n")
        poweroff.chmod(0o755)

    def start(self) -> None:
        with (self.folder / "errors").open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, self.folder / "script"],
                env={**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}"},
                stderr=errors,
                start_new_session=True,
            )
        LEASH.hold(self._process.pid)

    def console(self) -> str:
        return (self.folder / "console").read_text(errors="replace")

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(psutil.NoSuchProcess):
            for one in psutil.Process(process.pid).children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    one.send_signal(signal.SIGKILL)
        process.kill()
        process.wait()


class ListedMachines(Protocol):
    """A fake that lists machines by name, knows the user data of each, and hears that one has powered itself off."""

    def running(self) -> dict[str, str]: ...
    def script(self, name: str) -> str: ...
    def power_off(self, name: str) -> None: ...


class JobMachines:
    """Boots the machines that a fake lists as running, and switches off those that it does not list any more."""

    def __init__(self, fake: ListedMachines, folder: Path, boot: Callable[[Path, str], JobMachine]) -> None:
        self._fake, self._folder, self._boot = fake, folder, boot
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="machines", daemon=True)
        self.all: dict[str, JobMachine] = {}  # that were ever on
        self.on: set[str] = set()
        self.trouble: Exception | None = None

    def console(self, name: str) -> str:
        """Also of one that is off."""
        machine = self.all.get(name)
        return "" if machine is None else machine.console()

    def start(self) -> None:
        self._thread.start()

    def _watch(self) -> None:
        while not self._over.wait(LOOK_S):
            try:
                self._look()
            except Exception as error:  # told at the end, by the test's thread
                self.trouble = error

    def _look(self) -> None:
        running = self._fake.running()
        for name in running.keys() - self.all.keys():
            machine = self._boot(self._folder / name.replace("/", "-"), self._fake.script(name))
            machine.start()
            self.all[name] = machine
            self.on.add(name)
        for name in list(self.on):
            if name not in running or not self.all[name].runs:
                self.all[name].kill()
                self.on.discard(name)
                if name in running:
                    self._fake.power_off(name)

    def close(self) -> None:
        self._over.set()
        self._thread.join(10)
        for machine in self.all.values():
            machine.kill()


@contextmanager
def job_machines(
    fake: ListedMachines, folder: Path, boot: Callable[[Path, str], JobMachine] = ScriptMachine
) -> Iterator[JobMachines]:
    machines = JobMachines(fake, folder, boot)
    machines.start()
    try:
        yield machines
    finally:
        machines.close()
    assert machines.trouble is None, machines.trouble
