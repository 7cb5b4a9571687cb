"""What AWS does with an instance that moto only lists: it boots and runs its user data.

`StartedInstances` watches moto. For each instance that runs it reads the user data and starts it as a process of this
machine; when the instance has ended, the process and all below it are killed, as a machine that is switched off would.
All "machines" share one disk, so the folder of each agent is its own.
"""

import base64
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
from tests.servers.daemon import Daemon
from tests.servers.moto import MotoServer

AGENT_FOLDER = "/var/lib/dovetail-agent"


class StartedInstances:
    def __init__(self, server: MotoServer, folder: Path, region: str = "us-east-1", every_s: float = 0.2) -> None:
        self._client: Any = server.client(region=region)
        self._folder, self._every_s = folder, every_s
        self._over = threading.Event()
        self.running: dict[str, Daemon] = {}
        self.ended: list[str] = []
        self.trouble: Exception | None = None

    def watch(self) -> None:
        while not self._over.wait(self._every_s):
            try:
                self.look()
            except Exception as error:  # told at the end, by the test's thread
                self.trouble = error

    def look(self) -> None:
        pages = self._client.get_paginator("describe_instances").paginate()
        instances = [one for page in pages for made in page["Reservations"] for one in made["Instances"]]
        for one in instances:
            name, state = one["InstanceId"], one["State"]["Name"]
            if state == "running" and name not in self.running and name not in self.ended:
                self.running[name] = self._boot(name)
            elif state in ("shutting-down", "terminated") and name in self.running:
                self.switch_off(name)

    def _boot(self, name: str) -> Daemon:
        given = self._client.describe_instance_attribute(InstanceId=name, Attribute="userData")["UserData"]["Value"]
        disk = self._folder / name
        disk.mkdir()
        script = disk / "user-data"
        script.write_text(base64.b64decode(given).decode().replace(AGENT_FOLDER, str(disk / "agent")))
        machine = Daemon(name, ["sh", script], disk)
        machine.start(lambda: True)
        return machine

    def switch_off(self, name: str) -> None:
        machine = self.running.pop(name)
        with suppress(psutil.NoSuchProcess):
            for process in psutil.Process(machine.pid).children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    process.kill()
        machine.kill()
        self.ended.append(name)

    def console(self, name: str) -> str:
        return (self._folder / name / f"{name}.log").read_text(errors="replace")

    def close(self) -> None:
        self._over.set()
        for name in list(self.running):
            self.switch_off(name)


@contextmanager
def started_instances(server: MotoServer, folder: Path, region: str = "us-east-1") -> Iterator[StartedInstances]:
    folder.mkdir(exist_ok=True)
    started = StartedInstances(server, folder, region)
    thread = threading.Thread(target=started.watch, name="instances", daemon=True)
    thread.start()
    try:
        yield started
    finally:
        started.close()
        thread.join(10)
