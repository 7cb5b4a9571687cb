"""A real server in a process of its own, with settings as its users have them: simulated nodes, SQLite on disk.

Leaves the log in the folder and quotes its end when the server does not do what it should. Stopping waits for the
process, so that no round of a benchmark runs beside the leftovers of another.
"""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from benchmarks.process_memory import peak_resident_bytes
from dovetail.backends.simulated.settings import NodeGroup, SimulatedSettings

BACKEND = "sim"
#: Attempts never end by themselves, so that what was placed stays placed.
FLEET = SimulatedSettings(groups=[NodeGroup(prefix="sim", count=1000)], forever=True)
ANSWER_WITHIN_S = 120.0
TOKEN = "the-token-of-benchmarks"
POLL_S = 0.01


@dataclass(frozen=True, slots=True)
class Server:
    process: "subprocess.Popen[bytes]"
    url: str
    log: Path

    def client(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        return httpx.Client(base_url=f"{self.url}/api/v1", headers=headers, timeout=ANSWER_WITHIN_S, trust_env=False)

    def peak_resident_bytes(self) -> int:
        return peak_resident_bytes(self.process.pid)

    def post_until_accepted(self, client: httpx.Client, workload: dict[str, Any]) -> int:
        """Submit one workload as soon as the server takes it; returns its id."""
        give_up_at = time.monotonic() + ANSWER_WITHIN_S
        while True:
            try:
                answer = client.post("/workloads", json=workload)
            except httpx.TransportError as error:
                said = f"{type(error).__name__}: {error}"
            else:
                if answer.status_code == httpx.codes.CREATED:
                    return int(answer.json()["accepted"][0]["id"])
                said = f"{answer.status_code} {answer.text[:300]}"
                if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                    raise RuntimeError(f"the server refused a workload: {said}")
            self.check_alive(said, give_up_at)
            time.sleep(POLL_S)

    def check_alive(self, said: str, give_up_at: float) -> None:
        """Raises when waiting any longer is of no use."""
        if self.process.poll() is not None:
            raise RuntimeError(f"the server ended with status {self.process.returncode}. {self._end_of_log()}")
        if time.monotonic() > give_up_at:
            raise TimeoutError(f"waited {ANSWER_WITHIN_S:.0f} s for the server: {said}. {self._end_of_log()}")

    def _end_of_log(self) -> str:
        return "Its log ends:\n" + self.log.read_text(errors="replace")[-2000:]


@contextmanager
def running(folder: Path, order: str = "priority", fleet: int | SimulatedSettings | None = None) -> Iterator[Server]:
    """Start a server on the folder's database, without waiting for it, and stop it at the end. `fleet`: how many
    simulated nodes it has, instead of the usual number, or which."""
    port = _free_port()
    if isinstance(fleet, int):
        simulated = SimulatedSettings(groups=[NodeGroup(prefix="sim", count=fleet)], forever=True)
    else:
        simulated = fleet or FLEET
    settings = {
        "data": str(folder / "data"),
        "listen": {"port": port},
        "access": {"token_file": str(folder / "token")},
        "scheduling": {"schedulers": {"default": {"order": order}}},
        "backends": {BACKEND: {"kind": "simulated", **simulated.model_dump(mode="json", exclude_unset=True)}},
    }
    config, log = folder / "settings.yaml", folder / "server.log"
    (folder / "token").write_text(TOKEN)
    config.write_text(json.dumps(settings))  # JSON is YAML
    command = [sys.executable, "-m", "dovetail.cli.main", "serve", "--config", str(config)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DOVETAIL_")}
    with log.open("ab") as lines:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=lines, stderr=lines, env=environment)
    try:
        yield Server(process, f"http://127.0.0.1:{port}", log)
    finally:
        process.terminate()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def database(folder: Path) -> Path:
    """Where the server keeps what it remembers."""
    return folder / "data" / "dovetail.db"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
