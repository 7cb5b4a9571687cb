"""A real Redfish service: the emulator of OpenStack's sushy-tools, with machines that exist in its memory alone.

Each machine has 16 threads, 64 GiB and one network card. The emulator's machines take up to eleven seconds to change
their power, by chance; its settings file is Python, so the one here takes the chance away. `power` and `set_power` go
around the controller under test, as the button on the front does.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import bcrypt
import httpx
import pytest
from tests.servers.daemon import Daemon, free_ports, server_folder

USER, PASSWORD = "operator", "not-a-real-secret"
CORES, MEMORY_GIB = 16, 64
_SETTINGS = """\
from sushy_tools.emulator.resources.systems import fakedriver

class NoChance:
    randint = staticmethod(lambda least, most: {delay_s})

fakedriver.random = NoChance
fakedriver.FakeDriver.get_total_cpus = lambda self, identity: {cores}
fakedriver.FakeDriver.get_total_memory = lambda self, identity: {memory_gib}
SUSHY_EMULATOR_LISTEN_IP = "127.0.0.1"
SUSHY_EMULATOR_LISTEN_PORT = {port}
SUSHY_EMULATOR_FAKE_DRIVER = True
SUSHY_EMULATOR_STATE_DIR = {folder!r}
SUSHY_EMULATOR_AUTH_FILE = {folder!r} + "/users"
SUSHY_EMULATOR_FAKE_SYSTEMS = {systems!r}
"""


class RedfishServer:
    def __init__(self, daemon: Daemon, port: int, machines: Sequence[str]) -> None:
        self.daemon, self.address, self.machines = daemon, f"127.0.0.1:{port}", list(machines)
        self.url = f"http://{self.address}"
        self.http = httpx.Client(base_url=self.url, auth=(USER, PASSWORD), trust_env=False, timeout=30)

    def path(self, machine: str) -> str:
        return f"/redfish/v1/Systems/{_uuid(machine)}"

    def bmc(self, machine: str, url: str | None = None) -> dict[str, Any]:
        """The settings of its controller; `url`: of a proxy before it."""
        return {"redfish": url or self.url, "user": USER, "password": PASSWORD, "system": self.path(machine)}

    def backend(self) -> dict[str, Any]:
        """The entry of a backend with all its machines. They boot nothing, so no work is placed there."""
        shape: dict[str, Any] = {"rack": "r1", "capacity": {"cpu": 2, "memory": "1G"}, "watts": 300}
        shape["taints"] = [{"key": "nobody", "effect": "NoSchedule"}]
        machines = {name: {"bmc": self.bmc(name), **shape} for name in self.machines}
        return {"kind": "metal", "machines": machines, "poll": "200ms", "shutdown_within": 0}

    def power(self, machine: str) -> str:
        answer = self.http.get(self.path(machine))
        answer.raise_for_status()
        return str(answer.json()["PowerState"]).lower()

    def on(self) -> list[str]:
        return [machine for machine in self.machines if self.power(machine) == "on"]

    def set_power(self, machine: str, kind: str) -> None:
        """`kind`: `On` or `ForceOff`."""
        path = f"{self.path(machine)}/Actions/ComputerSystem.Reset"
        self.http.post(path, json={"ResetType": kind}).raise_for_status()

    def all_off(self) -> None:
        for machine in self.machines:
            self.set_power(machine, "ForceOff")
        assert not self.on()


def _uuid(machine: str) -> str:
    digits = hashlib.sha256(machine.encode()).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:32]}"


@contextmanager
def redfish_server(*machines: str, delay_s: int = 0) -> Iterator[RedfishServer]:
    """`delay_s`: how long a change of power takes."""
    if find_spec("sushy_tools") is None or find_spec("sushy") is None:
        pytest.skip("sushy-tools and sushy are not installed (PyPI packages)")
    with server_folder("redfish") as folder:
        (port,) = free_ports(1)
        (folder / "users").write_text(f"{USER}:{bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()}\n")
        systems = [_system(machine, number) for number, machine in enumerate(machines)]
        values: Mapping[str, Any] = {"port": port, "folder": str(folder), "systems": systems, "delay_s": delay_s}
        (folder / "settings.py").write_text(_SETTINGS.format(cores=CORES, memory_gib=MEMORY_GIB, **values))
        program = Path(find_spec("sushy_tools").origin or "").parents[4] / "bin" / "sushy-emulator"  # type: ignore[union-attr]
        daemon = Daemon("sushy-emulator", [program, "--config", folder / "settings.py"], folder)
        server = RedfishServer(daemon, port, machines)
        daemon.start(lambda: server.http.get("/redfish/v1/Systems").status_code == 200)
        try:
            yield server
        finally:
            server.http.close()
            daemon.stop()


def _system(machine: str, number: int) -> dict[str, Any]:
    nics = [{"mac": f"02:00:00:00:00:{number:02x}", "ip": f"192.0.2.{number}"}]
    return {"uuid": _uuid(machine), "name": machine, "power_state": "Off", "nics": nics}
