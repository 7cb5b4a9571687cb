"""A server under steady load: submissions at a fixed rate, beside event streams and heartbeats of registered nodes.

`control.streams` compares the latency of submissions with and without 100 streams, in turn on one server.
`control.load` adds 1,000 nodes that send heartbeats, and its work ends, so that what is live and what is kept about it
can be told apart: three thousand tasks run at a time. It is measured when caches have filled, for a minute by default;
DOVETAIL_LOAD_MINUTES=10 takes longer.
The readers of the streams are a process of their own, which looks at the time of the last event of each piece.
"""

import asyncio
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from typing import Any
from urllib.parse import urlsplit

from benchmarks.control.server import Server, running
from benchmarks.harness import Bench, Measured, at_most, benchmark
from benchmarks.measuring import once
from benchmarks.process_memory import MB, resident_bytes
from dovetail.backends.simulated.settings import NodeGroup, RunTime, SimulatedSettings

RATE, STREAMS, NODES = 150.0, 100, 1000
HEARTBEAT_S = 10.0
ROUNDS, ROUND_S = 3, 8.0
MINUTES = float(os.environ.get("DOVETAIL_LOAD_MINUTES", "1"))
ENDING = SimulatedSettings(groups=[NodeGroup(prefix="sim", count=1000)], run_time=RunTime(median=20.0))
WARM_UP_S = 60.0  # by then as many tasks run as will, and of most shapes there is a ranking cache that may be
PIECE = 5.0  # minutes of a run are compared in fifths

RATIO = at_most("control.streams.submit_p50", 1.2, "×")
BEHIND = at_most("control.streams.behind", 2.0, "s")
P99 = at_most("control.load.submit_p99", 250.0, "ms")
CORES = at_most("control.load.cpu", 1.0, "cores")
GROWTH = at_most("control.load.memory_growth", 50.0, "MB")


class Poster:
    """A connection that stays open."""

    def __init__(self, server: Server) -> None:
        with server.client() as client:
            self._headers = {**client.headers, "content-type": "application/json"}
        where = urlsplit(server.url)
        assert where.hostname is not None
        self._connection = HTTPConnection(where.hostname, where.port or 80, timeout=60)

    def post(self, path: str, content: Any) -> None:
        self._connection.request("POST", f"/api/v1{path}", json.dumps(content), self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{path} was answered with {answer.status}: {body[:300].decode()}")


@dataclass(slots=True)
class Load:
    """Submissions at a fixed rate; a submission that is late counts from when it was due."""

    server: Server
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def submit_for(self, seconds: float) -> list[float]:
        """The latencies, in seconds."""
        began, each = time.perf_counter() + 0.1, 1 / RATE
        due = iter([began + index * each for index in range(int(seconds * RATE))])
        lock, found = threading.Lock(), list[float]()

        def send(_: int) -> None:
            poster = Poster(self.server)
            while True:
                with lock:
                    at, number = next(due, None), next(self.numbers)
                if at is None:
                    return
                time.sleep(max(0.0, at - time.perf_counter()))
                poster.post("/workloads", _workload(number))
                found.append(time.perf_counter() - at)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(send, range(8)))
        return found


@benchmark(RATIO, BEHIND)
def streams(bench: Bench) -> Iterator[tuple[str, Measured]]:
    with bench.folder() as folder, running(folder) as server, server.client() as client:
        server.post_until_accepted(client, _workload(0))
        load, ratios, behind = Load(server), list[float](), list[float]()
        load.submit_for(ROUND_S / 2)
        for _ in range(ROUNDS):
            alone_s = median(load.submit_for(ROUND_S))
            with listening(server) as listeners:
                beside_s = median(load.submit_for(ROUND_S))
            ratios.append(beside_s / alone_s)
            behind.append(listeners["behind_s"])
            figures = f"{alone_s * 1e3:.1f} ms alone, {beside_s * 1e3:.1f} ms beside {STREAMS} streams"
            bench.say(f"{figures}, which had {listeners['events']:,} events and were {behind[-1]:.2f} s behind")
    yield RATIO.name, Measured(median(ratios), min(ratios), max(ratios), f"median of {ROUNDS} ratios of medians")
    yield BEHIND.name, Measured(max(behind), min(behind), max(behind), f"worst of {ROUNDS}, of all streams")


@benchmark(P99, CORES, GROWTH)
def load(bench: Bench) -> Iterator[tuple[str, Measured]]:
    with bench.folder() as folder, running(folder, fleet=ENDING) as server, server.client() as client:
        server.post_until_accepted(client, _workload(0))
        for index in range(NODES):
            client.post("/nodes", json={"name": f"beat-{index}", "capacity": {"cpu": 1}}).raise_for_status()
        steady, part_s = Load(server), MINUTES * 60 / PIECE
        with listening(server) as listeners, heartbeats(server):
            steady.submit_for(WARM_UP_S)
            used_s, began = _cpu_s(server), time.perf_counter()
            sizes, latencies = [resident_bytes(server.process.pid)], list[float]()
            for _ in range(int(PIECE)):
                latencies += steady.submit_for(part_s)
                sizes.append(resident_bytes(server.process.pid))
                bench.say(f"p99 {_p99_ms(latencies):.0f} ms, {sizes[-1] / MB:.0f} MB")
            cores = (_cpu_s(server) - used_s) / (time.perf_counter() - began)
        bench.say(f"{listeners['events']:,} events, at most {listeners['behind_s']:.2f} s behind")
    yield P99.name, once(_p99_ms(latencies), f"{len(latencies):,} submissions")
    yield CORES.name, once(cores, f"mean of {MINUTES:g} min")
    yield GROWTH.name, once((sizes[-1] - sizes[0]) / MB, f"resident, over {MINUTES:g} min")


@contextmanager
def listening(server: Server) -> Iterator[dict[str, float]]:
    """Streams read by a process of its own; what it found is in the dictionary afterwards."""
    found: dict[str, float] = {}
    with server.client() as client:
        headers = json.dumps(dict(client.headers))
    command = [sys.executable, "-m", "benchmarks.control.load", server.url, headers]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        process.stdout.readline()  # all are connected
        yield found
        found.update(json.loads(process.communicate("end\n")[0]))
    finally:
        process.kill()
        process.wait()


@contextmanager
def heartbeats(server: Server) -> Iterator[None]:
    ended = threading.Event()

    def send(first: int) -> None:
        poster, names = Poster(server), [f"beat-{index}" for index in range(first, NODES, 4)]
        while True:
            began = time.perf_counter()
            for index, name in enumerate(names):
                if ended.wait(max(0.0, began + index * HEARTBEAT_S / len(names) - time.perf_counter())):
                    return
                poster.post(f"/nodes/{name}/heartbeat", {"tasks": [], "used": {"cpu": "100m"}})

    with ThreadPoolExecutor(4) as pool:
        sending = [pool.submit(send, first) for first in range(4)]
        try:
            yield
        finally:
            ended.set()
    for one in sending:
        one.result()


def _workload(number: int) -> dict[str, Any]:
    chance = random.Random(number)
    resources = {"cpu": f"{chance.randint(1, 50)}m", "memory": f"{chance.randint(1, 50)}MiB"}
    return {"name": f"load-{number}", "resources": resources}


def _p99_ms(latencies_s: list[float]) -> float:
    return quantiles(latencies_s, n=100)[98] * 1e3


def _cpu_s(server: Server) -> float:
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# --- the process that reads streams ------------------------------------------------------------------------------


async def _read_streams(url: str, headers: dict[str, str]) -> None:
    where, found = urlsplit(url), {"events": 0, "behind_s": 0.0}
    headers |= {"host": where.netloc, "accept": "text/event-stream", "connection": "close"}
    request = "GET /api/v1/events HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items())

    async def read(reader: asyncio.StreamReader) -> None:
        while piece := await reader.read(1 << 18):
            found["events"] += piece.count(b"\ndata: ")
            _, is_there, rest = piece.rpartition(b'"at":')
            digits = rest.partition(b",")[0]
            if is_there and digits.replace(b".", b"").isdigit() and b"," in rest:
                found["behind_s"] = max(found["behind_s"], time.time() - float(digits))

    readers, writers = [], []  # a writer that is dropped closes its connection
    for _ in range(STREAMS):
        reader, writer = await asyncio.open_connection(where.hostname, where.port)
        writer.write(f"{request}\r\n".encode())
        await reader.readuntil(b"events of Dovetail")
        readers.append(asyncio.create_task(read(reader)))
        writers.append(writer)
    print("connected", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    for task in readers:
        task.cancel()
    print(json.dumps(found))


if __name__ == "__main__":
    asyncio.run(_read_streams(sys.argv[1], json.loads(sys.argv[2])))
