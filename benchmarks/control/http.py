"""Workloads a second through the front door: HTTP, validation, a durable commit, a decision, and the backend's word.

The clock runs from the first batch sent until the server reports every workload running on the simulated backend, which
is one step after bound. Each round has a new server and a new database; decisions are logged, as by default.
"""

import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import orjson

from benchmarks.control.server import ANSWER_WITHIN_S, Server, running
from benchmarks.harness import Bench, Measured, at_least, at_most, benchmark
from benchmarks.measuring import fastest
from benchmarks.process_memory import MB

THROUGHPUT = at_least("control.http.throughput", 2000.0, "workloads/s")
MEMORY = at_most("control.http.memory", 300.0, "MB")
WORKLOADS = 10_000
BATCH = 500
WARM_UP = 500
CONNECTIONS = 2
ROUNDS = 3
POLL_S = 0.05


@benchmark(THROUGHPUT, MEMORY)
def http(bench: Bench) -> Iterator[tuple[str, Measured]]:
    rates, peaks_mb = [], []
    for _ in range(ROUNDS):
        with bench.folder() as folder, running(folder) as server, server.client() as client:
            server.post_until_accepted(client, _workload("first", random.Random(0)))
            rates.append(_rate(server, client))
            peaks_mb.append(server.peak_resident_bytes() / MB)
            bench.say(f"{rates[-1]:,.0f} workloads/s, peak {peaks_mb[-1]:.0f} MB")
    yield THROUGHPUT.name, fastest(rates)
    worst = Measured(max(peaks_mb), min(peaks_mb), max(peaks_mb), f"worst of {ROUNDS}, VmHWM of the server")
    yield MEMORY.name, worst


def _rate(server: Server, client: httpx.Client) -> float:
    """Workloads a second from the first POST until all run."""
    _post(server, _batches("warm", WARM_UP))
    before = 1 + WARM_UP
    _wait_for_running(server, client, before)
    batches = _batches("load", WORKLOADS)
    began = time.perf_counter()
    _post(server, batches)
    _wait_for_running(server, client, before + WORKLOADS)
    return WORKLOADS / (time.perf_counter() - began)


def _post(server: Server, batches: list[bytes]) -> None:
    def send(some: list[bytes]) -> None:
        with server.client() as client:
            for body in some:
                answer = client.post("/workloads", content=body, headers={"Content-Type": "application/json"})
                if answer.status_code != httpx.codes.CREATED:
                    raise RuntimeError(f"a batch was answered with {answer.status_code}: {answer.text[:500]}")

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        list(pool.map(send, [batches[i::CONNECTIONS] for i in range(CONNECTIONS)]))


def _wait_for_running(server: Server, client: httpx.Client, count: int) -> None:
    give_up_at = time.monotonic() + ANSWER_WITHIN_S
    while True:
        states = client.get("/summary").raise_for_status().json()["workloads"]
        if states.get("running", 0) >= count:
            return
        server.check_alive(f"{count} workloads should run, there are {states}", give_up_at)
        time.sleep(POLL_S)


def _batches(name: str, count: int) -> list[bytes]:
    chance = random.Random(count)
    workloads = [_workload(f"{name}-{i}", chance) for i in range(count)]
    return [orjson.dumps(workloads[i : i + BATCH]) for i in range(0, count, BATCH)]


def _workload(name: str, chance: random.Random) -> dict[str, Any]:
    """One task of one of a few dozen sizes, as a busy cluster sees them again and again."""
    cpu, memory = chance.choice(("100m", "250m", "500m", 1)), f"{chance.choice((128, 256, 512, 1024, 2048))}MiB"
    return {
        "name": name,
        "namespace": chance.choice(("research", "web", "batch")),
        "resources": {"cpu": cpu, "memory": memory},
        "run": {"image": "worker:1", "command": ["work", name]},
    }
