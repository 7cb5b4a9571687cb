"""kill -9 at any moment loses no accepted workload and runs none twice.

A real server runs real commands while a client submits; the server is killed again and again at random moments and
started on what it left. The commands leave their mark in a file, which is audited at the end.
"""

import random
import threading
import time
from collections import Counter
from pathlib import Path

import httpx
import pytest
from tests.e2e.server_process import ServerProcess
from tests.examples import times
from tests.servers.own_token import OWN_TOKEN

KILLS = times(6)
BATCH = 6


class Submitter(threading.Thread):
    """Submits batch after batch; a batch whose answer was lost is sent again with the same idempotency key."""

    def __init__(self, server: ServerProcess, marks: Path) -> None:
        super().__init__(daemon=True)
        self._server, self._marks = server, marks
        self.accepted: dict[str, int] = {}
        self.sent: set[str] = set()
        self.refused: list[str] = []
        self.stopping = threading.Event()

    def run(self) -> None:
        with httpx.Client(
            auth=OWN_TOKEN, base_url=self._server.url, timeout=5, trust_env=False, verify=False
        ) as client:
            batch = 0
            while not self.stopping.is_set():
                batch += 1
                self._submit(client, batch)
                time.sleep(0.1)

    def _submit(self, client: httpx.Client, batch: int) -> None:
        names = [f"job-{batch}-{i}" for i in range(BATCH)]
        body = [
            {
                "name": name,
                "resources": {"cpu": "10m"},
                "run": {"command": ["/bin/sh", "-c", f"echo {name} >> {self._marks}"]},
            }
            for name in names
        ]
        self.sent.update(names)
        while not self.stopping.is_set():
            try:
                answer = client.post("/api/v1/workloads", json=body, headers={"Idempotency-Key": f"batch-{batch}"})
            except httpx.TransportError:
                time.sleep(0.05)
                continue
            if answer.status_code == 201:
                self.accepted |= {found["name"]: found["id"] for found in answer.json()["accepted"]}
                return
            if answer.status_code != 503:
                self.refused.append(answer.text)
                return
            time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.needs_server
@pytest.mark.xdist_group("cli")
def test_killing_the_server_at_random_moments_loses_nothing_and_runs_nothing_twice(tmp_path: Path) -> None:
    chance = random.Random(20261115)
    marks = tmp_path / "marks"
    marks.touch()
    local = {"kind": "local", "capacity": {"cpu": 64, "slots": 200}, "run_as": "server"}
    settings = {"backends": {"local": local}, "logging": {"level": "warning"}}
    server = ServerProcess(tmp_path, settings)
    submitter = Submitter(server, marks)
    try:
        server.start(cold=True)  # so that those after it hash in another order
        submitter.start()
        for _ in range(KILLS):
            time.sleep(chance.uniform(0.02, 1.2))
            server.kill()
            # Some kills strike while it is still starting and restoring.
            server.start(wait=chance.random() < 0.7)
        submitter.stopping.set()
        submitter.join(timeout=30)
        if not server.alive:
            server.start()
        server.wait_ready()
        wait_until_idle(server)
        audit(server, submitter, marks)
    finally:
        submitter.stopping.set()
        if server.alive:
            server.stop()


def wait_until_idle(server: ServerProcess, timeout_s: float = 120) -> None:
    deadline = time.monotonic() + timeout_s
    states: dict[str, int] = {}
    while time.monotonic() < deadline:
        states = server.http.get("/api/v1/summary").json()["workloads"]
        if not any(states[state] for state in ("pending", "starting", "running")):
            return
        time.sleep(0.1)
    raise AssertionError(f"work is still open: {states}")


def audit(server: ServerProcess, submitter: Submitter, marks: Path) -> None:
    ran = Counter(marks.read_text().split())
    assert not submitter.refused, submitter.refused[:3]
    assert len(submitter.accepted) > KILLS * BATCH, "too little was submitted for the kills to matter"
    twice = {name: count for name, count in ran.items() if count > 1}
    assert not twice, f"ran more than once: {twice}"
    lost = sorted(name for name in submitter.accepted if name not in ran)
    rows = [server.http.get(f"/api/v1/workloads/{submitter.accepted[name]}").json() for name in lost[:5]]
    # An attempt whose supervisor was interrupted before it began is reported as lost, never run again on its own.
    assert not lost, f"{len(lost)} accepted workloads never ran: {rows}"
    assert set(ran) <= submitter.sent
    states = server.http.get("/api/v1/summary").json()["workloads"]
    assert states["succeeded"] >= len(submitter.accepted)
    assert states["failed"] == 0
