"""What ten open browsers cost the server: decisions and submissions with and without them, in turn on one server.

The browsers run at the lowest priority: elsewhere they would have processors of their own. A processor that does
anything slows down the others of its chip, so without browsers, too, what is left of all processors is used up, by
programs of that priority. Ratios only: what a machine can do does not matter here. Decisions: the p99 of all of a
round, as `/decisions` tells them. Submissions: workloads a second that were accepted, which means written. The
processor time of the server for the same work is measured beside it: other programs disturb that least.
"""

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import orjson

from benchmarks.control.server import Server
from benchmarks.harness import Bar, Bench, Better, Measured, at_least, at_most, benchmark
from benchmarks.measuring import quantile
from benchmarks.web.large import READY, busy_processors, chromium, large, logged_in

DECISIONS = at_most("web.ten_browsers.decision_p99", 1.1, "×")
THROUGHPUT = at_least("web.ten_browsers.throughput", 0.9, "×")
PROCESSOR = Bar("web.ten_browsers.processor_time", "×", Better.LOWER, None)
PAGES = ["/", "/", "/", "/", "/topology", "/topology", "/topology", "/events", "/events", "/topology?colour=tenant"]
ROUNDS, PIECES, BATCHES, BATCH = 4, 8, 10, 50  # /decisions knows the latest 500: a piece


@dataclass(frozen=True, slots=True)
class LoadRound:
    decision_p99_ms: float
    rate: float
    processor_s: float

    def __str__(self) -> str:
        return f"p99 {self.decision_p99_ms:.2f} ms, {self.rate:,.0f} workloads/s, {self.processor_s:.2f} s of processor"


@benchmark(DECISIONS, THROUGHPUT, PROCESSOR)
def ten_browsers(bench: Bench) -> Iterator[tuple[str, Measured]]:
    alone, beside = list[LoadRound](), list[LoadRound]()
    with (
        bench.folder() as folder,
        large(bench) as server,
        server.client() as client,
        chromium(folder) as browser,
        busy_processors(folder),
    ):
        session = logged_in(browser, server)
        _load(server, client, "warm")
        for number in range(ROUNDS):
            alone.append(_load(server, client, f"alone-{number}"))
            with _open(browser, server, session):
                beside.append(_load(server, client, f"beside-{number}"))
            bench.say(f"alone: {alone[-1]}; beside {len(PAGES)} browsers: {beside[-1]}")
    yield DECISIONS.name, _ratio([one.decision_p99_ms for one in beside], [one.decision_p99_ms for one in alone])
    yield THROUGHPUT.name, _ratio([one.rate for one in beside], [one.rate for one in alone])
    yield PROCESSOR.name, _ratio([one.processor_s for one in beside], [one.processor_s for one in alone])


def _ratio(beside: list[float], alone: list[float]) -> Measured:
    ratios = [one / other for one, other in zip(beside, alone, strict=True)]
    return Measured(median(ratios), min(ratios), max(ratios), f"median of {len(ratios)} ratios")


@contextmanager
def _open(browser: Any, server: Server, session: Any) -> Iterator[None]:
    with ExitStack() as stack:
        for path in PAGES:
            context = browser.new_context(storage_state=session, viewport={"width": 1440, "height": 900})
            stack.callback(context.close)
            page = context.new_page()
            page.goto(server.url + path)
            page.wait_for_selector(READY, timeout=120_000)
        yield


def _load(server: Server, client: httpx.Client, name: str) -> LoadRound:
    shape = {"cpu": "50m", "memory": "16MiB"}
    took_ms, posting_s = list[float](), 0.0
    used_s = _processor_s(server)
    for piece in range(PIECES):
        bodies = [
            orjson.dumps([{"name": f"{name}-{piece}-{batch}-{one}", "resources": shape} for one in range(BATCH)])
            for batch in range(BATCHES)
        ]
        began = time.perf_counter()
        for body in bodies:
            client.post("/workloads", content=body, headers={"Content-Type": "application/json"}).raise_for_status()
        posting_s += time.perf_counter() - began
        rows = client.get("/decisions", params={"limit": BATCHES * BATCH}).raise_for_status().json()["items"]
        took_ms += [row["took_ms"] for row in rows if row["took_ms"] is not None]
    rate = PIECES * BATCHES * BATCH / posting_s
    return LoadRound(quantile(took_ms, 0.99), rate, _processor_s(server) - used_s)


def _processor_s(server: Server) -> float:
    """What the server has used until now, in user and system mode."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
