"""How many DNS queries are answered while endpoints change, and how long an answer takes.

Three processes on the same processors: a server whose endpoints change (`discovery_feed`), `dovetail dns` as a user
starts it, and this one, which asks over UDP on the loopback: A and SRV of services drawn at random. Throughput is
measured with a number of queries always under way, time to answer at a fixed rate, where a late answer does not make
the next query later, up to when the kernel has the answer. Every answer is checked to be one, and that the changes have
come is checked too. Processor time is that of `dovetail dns`, changes included; on a busy machine it says more than the
other two.
"""

import os
import random
import select
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, perf_counter, sleep, time

import dns.message
import httpx
import psutil

from benchmarks.harness import Bar, Bench, Better, Measured, at_least, at_most, benchmark
from benchmarks.measuring import fastest, middle, quantile, quiet

RATE = at_least("discovery.dns", 8_000.0, "answers/s")
P99 = at_most("discovery.dns_p99", 5.0, "ms")
CPU = Bar("discovery.dns_cpu", "µs/answer", Better.LOWER, None)
SERVICES, REPLICAS, CHANGES_A_SECOND = 1_000, 10, 1_000
ENOUGH = 0.7  # of these changes: a busy machine makes fewer
UNDER_WAY, ROUNDS, ROUND_S = 48, 5, 3.0
ASKED_A_SECOND, LOST_AFTER_S, START_S = 8_000, 1.0, 60.0
_SO_TIMESTAMPNS = 35  # of Linux; the standard library does not name it
_TIMESTAMP = struct.Struct("@qq")


@benchmark(RATE, P99, CPU)
def dns_answers(bench: Bench) -> Iterator[tuple[str, Measured]]:
    rates, tails_ms, costs_us, changes = [], [], [], []
    with bench.folder() as folder, _processes(folder) as (server, port, shown), _connected(port) as asking:
        queries = _queries()
        _wait_until_known(asking, queries[0])
        _most(asking, queries)  # warm up
        with quiet():
            for _ in range(ROUNDS):
                before, seen, began = sum(server.cpu_times()[:2]), _changes(shown), perf_counter()
                answered, elapsed_s = _most(asking, queries)
                rates.append(answered / elapsed_s)
                costs_us.append((sum(server.cpu_times()[:2]) - before) / answered * 1e6)
                tails_ms.append(quantile(_paced(asking, queries), 0.99) * 1000)
                changes.append((_changes(shown) - seen) / (perf_counter() - began))
                said = f"{rates[-1]:,.0f} answers/s, p99 {tails_ms[-1]:.2f} ms, {costs_us[-1]:.0f} µs each"
                bench.say(f"{said}, {changes[-1]:,.0f} changes/s")
    if min(changes) < ENOUGH * CHANGES_A_SECOND:
        raise RuntimeError(f"only {min(changes):,.0f} endpoints changed a second; the figures would say nothing")
    yield RATE.name, fastest(rates)
    yield P99.name, middle(tails_ms, f"rounds at {ASKED_A_SECOND:,} queries/s")
    yield CPU.name, middle(costs_us)


@contextmanager
def _processes(folder: Path) -> Iterator[tuple[psutil.Process, int, int]]:
    """The process of `dovetail dns`, where it listens, and where it shows metrics."""
    feed_port, port, shown = _free_port(), _free_port(), _free_port()
    numbers = map(str, (feed_port, SERVICES, REPLICAS, CHANGES_A_SECOND))
    feed = subprocess.Popen([sys.executable, "-m", "benchmarks.discovery_feed", str(folder / "feed"), *numbers])
    command = [sys.executable, "-m", "dovetail", "dns", "--listen", f"127.0.0.1:{port}", "--data", str(folder)]
    command += ["--metrics", f"127.0.0.1:{shown}"]
    env = {**os.environ, "DOVETAIL_TOKEN": _token(folder / "feed" / "admin.token")}
    server = subprocess.Popen([*command, "--url", f"http://127.0.0.1:{feed_port}"], stderr=subprocess.DEVNULL, env=env)
    try:
        yield psutil.Process(server.pid), port, shown
    finally:
        for process in (server, feed):
            process.kill()
            process.wait()


def _changes(shown: int) -> float:
    """How many it has taken in so far."""
    text = httpx.get(f"http://127.0.0.1:{shown}/metrics", trust_env=False).text
    name = "dovetail_dns_endpoint_changes_total "
    return next(float(line.removeprefix(name)) for line in text.splitlines() if line.startswith(name))


def _token(file: Path) -> str:
    gives_up_at = monotonic() + START_S
    while not file.exists() and monotonic() < gives_up_at:
        sleep(0.05)
    return file.read_text().strip()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _connected(port: int) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.connect(("127.0.0.1", port))
        asking.setblocking(False)
        asking.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        asking.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * 2**20)
        yield asking


def _queries() -> list[bytes]:
    """Without their ids; one in ten asks for SRV."""
    chance = random.Random(3)
    found = []
    for _ in range(4_000):
        name, kind = f"s{chance.randrange(SERVICES)}.default.dovetail", "A"
        if chance.random() < 0.1:
            name, kind = f"_http._tcp.{name}", "SRV"
        found.append(dns.message.make_query(name, kind, use_edns=0).to_wire()[2:])
    return found


def _wait_until_known(asking: socket.socket, query: bytes) -> None:
    gives_up_at = monotonic() + START_S
    while monotonic() < gives_up_at:
        try:
            asking.send(b"\0\0" + query)
            select.select([asking], [], [], 0.2)
            if _is_answer(asking.recv(4096)):
                return
        except (BlockingIOError, ConnectionRefusedError):
            sleep(0.05)
    raise RuntimeError("dovetail dns does not answer")


def _is_answer(data: bytes) -> bool:
    """NOERROR, with records."""
    return data[3] & 0xF == 0 and (data[6] or data[7]) != 0


def _most(asking: socket.socket, queries: list[bytes]) -> tuple[int, float]:
    """How many are answered with so many under way, and the time that took."""
    began = perf_counter()
    sent = answered = 0
    while (now := perf_counter()) < began + ROUND_S:
        while sent - answered < UNDER_WAY:
            asking.send(sent.to_bytes(4, "big")[2:] + queries[sent % len(queries)])
            sent += 1
        if not select.select([asking], [], [], LOST_AFTER_S)[0]:
            raise RuntimeError(f"{sent - answered} of {sent} queries were not answered")
        answered += _received(asking)
    _drain(asking, sent - answered)
    return answered, now - began


def _received(asking: socket.socket) -> int:
    count = 0
    try:
        while True:
            if not _is_answer(asking.recv(4096)):
                raise RuntimeError("a query got an answer without records")
            count += 1
    except BlockingIOError:
        return count


def _drain(asking: socket.socket, left: int) -> None:
    while left > 0 and select.select([asking], [], [], LOST_AFTER_S)[0]:
        left -= _received(asking)


def _paced(asking: socket.socket, queries: list[bytes]) -> list[float]:
    """How long each query took at a fixed rate, from sending it until the kernel had the answer: times at which this
    process did not run do not count. A lost one took very long."""
    total = int(ASKED_A_SECOND * ROUND_S)
    sent_at = [0.0] * 65_536
    taken: list[float] = []
    sent, began = 0, perf_counter()
    last = began
    while len(taken) < total:
        now = perf_counter()
        due = min(total, int((now - began) * ASKED_A_SECOND), sent + UNDER_WAY)
        for number in range(sent, due):
            sent_at[number & 0xFFFF] = time()
            asking.send((number & 0xFFFF).to_bytes(2, "big") + queries[number % len(queries)])
        sent = max(sent, due)
        if select.select([asking], [], [], 0.0002)[0]:
            _note_answers(asking, sent_at, taken)
            last = now
        elif sent == total and now > last + LOST_AFTER_S:
            break
    return taken + [LOST_AFTER_S] * (total - len(taken))


def _note_answers(asking: socket.socket, sent_at: list[float], taken: list[float]) -> None:
    room = socket.CMSG_SPACE(_TIMESTAMP.size)
    try:
        while True:
            data, beside, _, _ = asking.recvmsg(4096, room)
            seconds, nanoseconds = _TIMESTAMP.unpack(beside[0][2])
            taken.append(seconds + nanoseconds / 1e9 - sent_at[data[0] << 8 | data[1]])
    except BlockingIOError:
        pass
