"""What agents cost the control plane: heartbeats with the measured use of every task, and a request of each agent that
waits for orders, all over real HTTP on connections that stay open.

1,000 agents report every 5 s, 5,000 every 15 s; each runs four tasks. The CPU time of the server is measured, without
that of the agents, which are a process of their own. A heartbeat that is answered after the next one was due is late.
"""

import asyncio
import contextlib
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from benchmarks.control.load import _cpu_s as cpu_s
from benchmarks.control.server import TOKEN, Server, running
from benchmarks.harness import Bench, Measured, at_most, benchmark
from benchmarks.measuring import once
from benchmarks.process_memory import MB, resident_bytes

TASKS_EACH = 4
MEASURED_S = 30.0
WAIT_FOR_ORDERS_S = 60.0
REGISTERING_AT_ONCE = 32

CORES_1000 = at_most("control.heartbeats.cpu_1000", 0.3, "cores")
LATE_1000 = at_most("control.heartbeats.late_1000", 0, "heartbeats")
CORES_5000 = at_most("control.heartbeats.cpu_5000", 0.3, "cores")
LATE_5000 = at_most("control.heartbeats.late_5000", 0, "heartbeats")


@benchmark(CORES_1000, LATE_1000)
def a_thousand(bench: Bench) -> Iterator[tuple[str, Measured]]:
    yield from _measured(bench, 1000, 5.0, CORES_1000.name, LATE_1000.name)


@benchmark(CORES_5000, LATE_5000)
def five_thousand(bench: Bench) -> Iterator[tuple[str, Measured]]:
    yield from _measured(bench, 5000, 15.0, CORES_5000.name, LATE_5000.name)


def _measured(bench: Bench, agents: int, every_s: float, cores: str, late: str) -> Iterator[tuple[str, Measured]]:
    with bench.folder() as folder, running(folder, fleet=1) as server, server.client() as client:
        server.post_until_accepted(client, {"name": "first"})
        client.delete("/workloads/first")
        with _agents(server, agents, every_s) as line:
            bench.say(f"{agents:,} agents have joined: {line.ask('joined')}")
            for number in range(TASKS_EACH):
                for part in range(0, agents, 5000):
                    spec = {"name": f"work-{number}-{part}", "replicas": min(5000, agents - part)}
                    selector = {"agent": "yes"}
                    body = {**spec, "resources": {"cpu": 1, "memory": "1GiB"}, "node_selector": selector}
                    server.post_until_accepted(client, body)
            bench.say(line.ask("run"))
            used_s, began = cpu_s(server), time.perf_counter()
            found = json.loads(line.ask(f"measure {MEASURED_S}"))
            wall_s = time.perf_counter() - began
            used = (cpu_s(server) - used_s) / wall_s
            size = resident_bytes(server.process.pid) / MB
        words = f"{found['beats']:,} heartbeats and {found['polls']:,} waits in {wall_s:.0f} s"
        bench.say(
            f"{words}: {used:.3f} cores, {used * wall_s / max(1, found['beats']) * 1e3:.2f} ms each, {size:.0f} MB"
        )
    yield cores, once(used, words)
    yield late, once(found["late"], f"slowest answer {found['slowest_s']:.2f} s")


@dataclass(slots=True)
class Line:
    """To the process of the agents: a word, and its answer."""

    process: "subprocess.Popen[str]"

    def ask(self, word: str) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()
        if not (said := self.process.stdout.readline()):
            raise RuntimeError(f"the agents ended with status {self.process.wait()}")
        return said.strip()


@contextlib.contextmanager
def _agents(server: Server, agents: int, every_s: float) -> Iterator[Line]:
    command = [sys.executable, "-m", "benchmarks.control.heartbeats", server.url, str(agents), str(every_s)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield Line(process)
    finally:
        process.kill()
        process.wait()


# --- the process of the agents -----------------------------------------------------------------------------------


class Wire:
    """One connection that stays open, for one request at a time."""

    def __init__(self, url: str, token: str) -> None:
        where = urlsplit(url)
        self._where = where.hostname, where.port
        self._head = f"Host: {where.netloc}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, content: Any = None) -> dict[str, Any]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._where)
        reader, writer = self._streams
        body = b"" if content is None else json.dumps(content).encode()
        head = f"{method} /api/v1{path} HTTP/1.1\r\n{self._head}Content-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        try:
            answer = (await reader.readuntil(b"\r\n\r\n")).lower()
        except (asyncio.IncompleteReadError, ConnectionError):  # it was closed while nobody asked
            self._streams = None
            return await self.ask(method, path, content)
        length = int(answer.partition(b"content-length:")[2].partition(b"\r\n")[0])
        found: dict[str, Any] = json.loads(await reader.readexactly(length))
        if int(answer[9:12]) >= 300:
            raise RuntimeError(f"{method} {path}: {found}")
        if b"connection: close" in answer:
            self._streams = None
        return found


@dataclass(slots=True)
class Fleet:
    url: str
    agents: int
    every_s: float
    running: dict[str, set[str]] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    beats: int = 0
    polls: int = 0
    late: int = 0
    slowest_s: float = 0.0

    async def join(self) -> None:
        names = iter([f"agent-{index}" for index in range(self.agents)])

        async def register() -> None:
            wire = Wire(self.url, TOKEN)
            for name in names:
                capacity = {"cpu": TASKS_EACH, "memory": "64GiB"}
                body = {"name": name, "capacity": capacity, "labels": {"agent": "yes"}}
                self.tokens[name] = (await wire.ask("POST", "/nodes", body))["token"]
                self.running[name] = set()

        await asyncio.gather(*(register() for _ in range(REGISTERING_AT_ONCE)))

    async def beat(self, name: str, chance: random.Random) -> None:
        wire = Wire(self.url, self.tokens[name])
        at = time.monotonic() + chance.uniform(0, self.every_s)
        while True:
            await asyncio.sleep(max(0.0, at - time.monotonic()))
            began = time.monotonic()
            tasks = [{"key": key, "state": "running", "use": _use(chance)} for key in self.running[name]]
            used = {"cpu": chance.uniform(0, TASKS_EACH), "memory": chance.randint(0, 2**36), "disk": 2**33}
            body = {"used": used, "answers": True, "tasks": tasks}
            orders = await wire.ask("POST", f"/nodes/{name}/heartbeat", body)
            took_s = time.monotonic() - began
            self.running[name].update(order["key"] for order in orders["run"])
            self.beats += 1
            self.late += took_s > self.every_s
            self.slowest_s = max(self.slowest_s, took_s)
            at += self.every_s

    async def wait_for_orders(self, name: str) -> None:
        wire, version = Wire(self.url, self.tokens[name]), 0
        while True:
            orders = await wire.ask("GET", f"/nodes/{name}/orders?after={version}&wait_s={WAIT_FOR_ORDERS_S}")
            version = orders["version"]
            self.running[name].update(order["key"] for order in orders["run"])
            self.polls += 1

    def start(self) -> list["asyncio.Task[None]"]:
        chance = random.Random(1)
        found = []
        for name in self.tokens:
            found.append(asyncio.create_task(self.beat(name, random.Random(chance.random()))))
            found.append(asyncio.create_task(self.wait_for_orders(name)))
        return found

    async def all_run(self) -> None:
        while sum(map(len, self.running.values())) < self.agents * TASKS_EACH:  # noqa: ASYNC110 - they are many
            await asyncio.sleep(0.2)
        await asyncio.sleep(2 * self.every_s)  # every agent has reported what it runs


def _use(chance: random.Random) -> dict[str, Any]:
    found: dict[str, Any] = {name: round(chance.random(), 4) for name in ("cpu_cores", "cpu_pressure", "io_pressure")}
    names = ("memory_bytes", "disk_read_bytes", "disk_written_bytes", "network_received_bytes", "network_sent_bytes")
    return {**found, "memory_pressure": 0.0, **{name: chance.randint(0, 2**36) for name in names}}


async def _serve(url: str, agents: int, every_s: float) -> None:
    fleet, tasks = Fleet(url, agents, every_s), list["asyncio.Task[None]"]()
    while line := await asyncio.to_thread(sys.stdin.readline):
        word, *rest = line.split()
        if word == "joined":
            began = time.monotonic()
            await fleet.join()
            tasks = fleet.start()
            print(f"in {time.monotonic() - began:.1f} s", flush=True)
        elif word == "run":
            began = time.monotonic()
            await fleet.all_run()
            print(f"all tasks run after {time.monotonic() - began:.1f} s", flush=True)
        else:
            fleet.beats = fleet.polls = fleet.late = 0
            fleet.slowest_s = 0.0
            await asyncio.sleep(float(rest[0]))
            found = {"beats": fleet.beats, "polls": fleet.polls, "late": fleet.late, "slowest_s": fleet.slowest_s}
            print(json.dumps(found), flush=True)
        for task in tasks:
            if task.done():
                task.result()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
