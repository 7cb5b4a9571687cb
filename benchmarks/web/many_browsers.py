"""What ten open browsers cost the server that they look at.

Two servers like each other, each with a processor of its own, get the same load at the same time. The browsers look at
one of them, in turn. So whatever else the machine does, and what ten Chromium take from its caches, where people have
machines of their own for them, is in both. Browsers run at the lowest priority.

Ratios only: what a machine can do does not matter here. Decisions: the p99 of all rounds, as `/decisions` tells them.
Submissions: workloads a second that were accepted, which means written. The processor time of the server for each
workload is what other programs disturb least.
"""

import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

import orjson

from benchmarks.control.server import Server
from benchmarks.harness import Bar, Bench, Better, Measured, NotRun, at_least, at_most, benchmark
from benchmarks.measuring import quantile
from benchmarks.web.large import READY, chromium, large, logged_in

DECISIONS = at_most("web.ten_browsers.decision_p99", 1.1, "×")
THROUGHPUT = at_least("web.ten_browsers.throughput", 0.9, "×")
PROCESSOR = Bar("web.ten_browsers.processor_time", "×", Better.LOWER, None)
PAGES = ["/", "/", "/", "/", "/topology", "/topology", "/topology", "/events", "/events", "/topology?colour=tenant"]
SETTLE_S = 3.0  # open, not opening: what a page asks for at first is measured elsewhere
ROUNDS, LOAD_S = 14, 4.0
BATCHES, BATCH = 10, 50  # /decisions knows the latest 500: a piece of the load


@dataclass(frozen=True, slots=True)
class LoadRound:
    """`processor_ms`: for each workload."""

    decisions_ms: list[float]
    rate: float
    processor_ms: float

    def __str__(self) -> str:
        p99_ms = quantile(self.decisions_ms, 0.99)
        return f"p99 {p99_ms:.2f} ms, {self.rate:,.0f} workloads/s, {self.processor_ms:.2f} ms of processor each"


@benchmark(DECISIONS, THROUGHPUT, PROCESSOR)
def ten_browsers(bench: Bench) -> Iterator[tuple[str, Measured]]:
    processors = sorted(os.sched_getaffinity(0))[:2]
    if len(processors) < 2:
        raise NotRun("needs two processors")
    watched, others = list[LoadRound](), list[LoadRound]()
    with bench.folder() as folder, large(bench) as first, large(bench) as second, chromium(folder) as browser:
        servers, sessions = (first, second), (logged_in(browser, first), logged_in(browser, second))
        for server, processor in zip(servers, processors, strict=True):
            _pin(server.process.pid, processor)
        _load_all(servers, processors, "warm")
        for number in range(ROUNDS):
            seen = number % 2
            with _open(browser, servers[seen], sessions[seen]):
                rounds = _load_all(servers, processors, f"round-{number}")
            watched.append(rounds[seen])
            others.append(rounds[1 - seen])
            bench.say(f"{len(PAGES)} browsers look at it: {watched[-1]}; at the other: {others[-1]}")
    p99_ms = [quantile([ms for one in rounds for ms in one.decisions_ms], 0.99) for rounds in (watched, others)]
    ratio, how = p99_ms[0] / p99_ms[1], f"of {ROUNDS} rounds: {p99_ms[0]:.2f} ms and {p99_ms[1]:.2f} ms"
    yield DECISIONS.name, Measured(ratio, ratio, ratio, how)
    yield THROUGHPUT.name, _ratio([one.rate for one in watched], [one.rate for one in others])
    yield PROCESSOR.name, _ratio([one.processor_ms for one in watched], [one.processor_ms for one in others])


def _ratio(these: list[float], others: list[float]) -> Measured:
    """Of two neighbouring rounds each: the servers take turns in being looked at, and may not be quite alike."""
    single = [one / other for one, other in zip(these, others, strict=True)]
    ratios = [(one * next_) ** 0.5 for one, next_ in zip(single[::2], single[1::2], strict=True)]
    return Measured(median(ratios), min(ratios), max(ratios), f"median of {len(ratios)} pairs of rounds")


def _pin(process: int, processor: int) -> None:
    for thread in Path(f"/proc/{process}/task").iterdir():
        os.sched_setaffinity(int(thread.name), {processor})


def _load_all(servers: Sequence[Server], processors: Sequence[int], name: str) -> list[LoadRound]:
    """At the same time, each from the processor of its server."""
    loading = []
    for server, processor in zip(servers, processors, strict=True):
        result, sender = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.Process(target=_load, args=(server, processor, name, sender))
        process.start()
        sender.close()
        loading.append((process, result))
    rounds = []
    for process, result in loading:
        rounds.append(result.recv())
        process.join()
    return rounds


@contextmanager
def _open(browser: Any, server: Server, session: Any) -> Iterator[None]:
    with ExitStack() as stack:
        for path in PAGES:
            context = browser.new_context(storage_state=session, viewport={"width": 1440, "height": 900})
            stack.callback(context.close)
            page = context.new_page()
            page.goto(server.url + path)
            page.wait_for_selector(READY, timeout=120_000)
        time.sleep(SETTLE_S)
        yield


def _load(server: Server, processor: int, name: str, sender: Connection) -> None:
    os.sched_setaffinity(0, {processor})
    shape = {"cpu": "50m", "memory": "16MiB"}
    took_ms, posting_s, pieces = list[float](), 0.0, 0
    used_s, ends_at = _processor_s(server), time.perf_counter() + LOAD_S
    with server.client() as client:
        while time.perf_counter() < ends_at:
            bodies = [
                orjson.dumps([{"name": f"{name}-{pieces}-{batch}-{one}", "resources": shape} for one in range(BATCH)])
                for batch in range(BATCHES)
            ]
            began = time.perf_counter()
            for body in bodies:
                client.post("/workloads", content=body, headers={"Content-Type": "application/json"}).raise_for_status()
            posting_s += time.perf_counter() - began
            rows = client.get("/decisions", params={"limit": BATCHES * BATCH}).raise_for_status().json()["items"]
            took_ms += [row["took_ms"] for row in rows if row["took_ms"] is not None]
            pieces += 1
    accepted = pieces * BATCHES * BATCH
    sender.send(LoadRound(took_ms, accepted / posting_s, 1000 * (_processor_s(server) - used_s) / accepted))


def _processor_s(server: Server) -> float:
    """What the server has used until now, in user and system mode."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
