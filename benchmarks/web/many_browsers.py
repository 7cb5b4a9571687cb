"""What ten open browsers cost the server that they look at.

Rounds in turn on one machine: the browsers look at this server, or at another one like it that is as busy. So what ten
Chromium take from the processors and caches of a small machine, where people have machines of their own for them, is in
both. Browsers and the other server run at the lowest priority. Measured beside it, without a bar: the same against
rounds without any browser, in which idle programs use up what is left of the processors.

Ratios only: what a machine can do does not matter here. Decisions: the p99 of all rounds of a kind, as `/decisions`
tells them. Submissions: workloads a second that were accepted, which means written. The processor time of the server
for the same work is what other programs disturb least.
"""

import multiprocessing
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
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
SAME_MACHINE = Bar("web.ten_browsers.throughput_same_machine", "×", Better.HIGHER, None)
PAGES = ["/", "/", "/", "/", "/topology", "/topology", "/topology", "/events", "/events", "/topology?colour=tenant"]
SETTLE_S = 3.0  # open, not opening: what a page asks for at first is measured elsewhere
ROUNDS, PIECES, BATCHES, BATCH = 7, 8, 10, 50  # /decisions knows the latest 500: a piece


@dataclass(frozen=True, slots=True)
class LoadRound:
    decisions_ms: list[float]
    rate: float
    processor_s: float

    def __str__(self) -> str:
        p99_ms = quantile(self.decisions_ms, 0.99)
        return f"p99 {p99_ms:.2f} ms, {self.rate:,.0f} workloads/s, {self.processor_s:.2f} s of processor"


@benchmark(DECISIONS, THROUGHPUT, PROCESSOR, SAME_MACHINE)
def ten_browsers(bench: Bench) -> Iterator[tuple[str, Measured]]:
    alone, elsewhere, here = list[LoadRound](), list[LoadRound](), list[LoadRound]()
    with (
        bench.folder() as folder,
        large(bench) as other,
        large(bench) as server,
        server.client() as client,
        chromium(folder) as browser,
    ):
        _lower(other.process.pid)
        session, other_session = logged_in(browser, server), logged_in(browser, other)
        _load(server, client, "warm")
        for number in range(ROUNDS):
            with busy_processors(folder):
                alone.append(_load(server, client, f"alone-{number}"))
            for is_here in (number % 2 == 1, number % 2 == 0):  # in turn first: the server holds more work each time
                if is_here:
                    with _open(browser, server, session):
                        here.append(_load(server, client, f"here-{number}"))
                else:
                    with _busy(other, number), _open(browser, other, other_session):
                        elsewhere.append(_load(server, client, f"elsewhere-{number}"))
            bench.say(f"alone: {alone[-1]}; {len(PAGES)} browsers elsewhere: {elsewhere[-1]}; here: {here[-1]}")
    p99_here, p99_elsewhere = (
        quantile([ms for one in rounds for ms in one.decisions_ms], 0.99) for rounds in (here, elsewhere)
    )
    ratio, how = p99_here / p99_elsewhere, f"of {ROUNDS} rounds: {p99_here:.2f} ms and {p99_elsewhere:.2f} ms"
    yield DECISIONS.name, Measured(ratio, ratio, ratio, how)
    yield THROUGHPUT.name, _ratio([one.rate for one in here], [one.rate for one in elsewhere])
    yield PROCESSOR.name, _ratio([one.processor_s for one in here], [one.processor_s for one in elsewhere])
    yield SAME_MACHINE.name, _ratio([one.rate for one in here], [one.rate for one in alone])


def _ratio(these: list[float], others: list[float]) -> Measured:
    ratios = [one / other for one, other in zip(these, others, strict=True)]
    return Measured(median(ratios), min(ratios), max(ratios), f"median of {len(ratios)} ratios")


def _lower(process: int) -> None:
    """Everybody else gets the processor first."""
    for thread in Path(f"/proc/{process}/task").iterdir():
        os.sched_setscheduler(int(thread.name), os.SCHED_IDLE, os.sched_param(0))


@contextmanager
def _busy(server: Server, number: int) -> Iterator[None]:
    """It gets the load of a round, over and over."""
    feeding = multiprocessing.Process(target=_feed, args=(server, number))
    feeding.start()
    try:
        yield
    finally:
        feeding.kill()
        feeding.join()


def _feed(server: Server, number: int) -> None:
    _lower(os.getpid())
    with server.client() as client:
        for time_ in count():
            _load(server, client, f"fed-{number}-{time_}")


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
    return LoadRound(took_ms, rate, _processor_s(server) - used_s)


def _processor_s(server: Server) -> float:
    """What the server has used until now, in user and system mode."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
