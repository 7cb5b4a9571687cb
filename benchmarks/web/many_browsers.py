"""What ten open browsers cost the server: decisions and submissions with and without them, in turn on one server.

The browsers run at the lowest priority: elsewhere they would have processors of their own. Ratios only: what a machine
can do does not matter here. Decisions: the p99 of the latest 500 of a round, as `/decisions` tells them. Submissions:
workloads a second that were accepted, which means written.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from statistics import median
from typing import Any

import httpx
import orjson

from benchmarks.control.server import Server
from benchmarks.harness import Bench, Measured, at_least, at_most, benchmark
from benchmarks.measuring import quantile
from benchmarks.web.large import READY, chromium, large, logged_in

DECISIONS = at_most("web.ten_browsers.decision_p99", 1.1, "×")
THROUGHPUT = at_least("web.ten_browsers.throughput", 0.9, "×")
PAGES = ["/", "/", "/", "/", "/topology", "/topology", "/topology", "/events", "/events", "/topology?colour=tenant"]
ROUNDS, BATCHES, BATCH = 4, 60, 50


@benchmark(DECISIONS, THROUGHPUT)
def ten_browsers(bench: Bench) -> Iterator[tuple[str, Measured]]:
    slower, less = list[float](), list[float]()
    with bench.folder() as folder, large(bench) as server, server.client() as client, chromium(folder) as browser:
        session = logged_in(browser, server)
        _load(client, "warm")
        for number in range(ROUNDS):
            alone_ms, alone = _load(client, f"alone-{number}")
            with _open(browser, server, session):
                beside_ms, beside = _load(client, f"beside-{number}")
            slower.append(beside_ms / alone_ms)
            less.append(beside / alone)
            figures = f"p99 {alone_ms:.2f} ms and {alone:,.0f} workloads/s alone"
            bench.say(f"{figures}, {beside_ms:.2f} ms and {beside:,.0f} beside {len(PAGES)} browsers")
    how = f"median of {ROUNDS} ratios"
    yield DECISIONS.name, Measured(median(slower), min(slower), max(slower), how)
    yield THROUGHPUT.name, Measured(median(less), min(less), max(less), how)


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


def _load(client: httpx.Client, name: str) -> tuple[float, float]:
    """The p99 of decisions in ms, and workloads a second."""
    shape = {"cpu": "50m", "memory": "16MiB"}
    bodies = [
        orjson.dumps([{"name": f"{name}-{batch}-{one}", "resources": shape} for one in range(BATCH)])
        for batch in range(BATCHES)
    ]
    began = time.perf_counter()
    for body in bodies:
        client.post("/workloads", content=body, headers={"Content-Type": "application/json"}).raise_for_status()
    rate = BATCH * BATCHES / (time.perf_counter() - began)
    rows = client.get("/decisions", params={"limit": 500}).raise_for_status().json()["items"]
    took_ms = [row["took_ms"] for row in rows if row["took_ms"] is not None]
    return quantile(took_ms, 0.99), rate
