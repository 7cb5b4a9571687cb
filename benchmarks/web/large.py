"""A server with a large cluster that is in use, and browsers that are logged in to it."""

import random
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
from tests.servers.browser import missing, program

from benchmarks.control.server import ANSWER_WITHIN_S, Server, running
from benchmarks.harness import Bench, NotRun
from dovetail.backends.simulated.settings import LeafSpine, SimulatedSettings

#: 5 × 5 × 50 = 1,250 nodes, 10,000 GPUs.
FLEET = SimulatedSettings(
    leaf_spine=LeafSpine(prefix="gpu", spines=5, leaves_per_spine=5, nodes_per_leaf=50, racks_per_leaf=5, zones=5),
    forever=True,
)
NODES, WORKLOADS, BATCH = 1250, 20_000, 500
_SHAPES = [  # how many of the 20,000: most run, some hundreds wait for GPUs
    (8_200, {"cpu": 4, "memory": "8GiB", "gpu": 1}),
    (11_500, {"cpu": "500m", "memory": "1GiB"}),
    (300, {"cpu": 32, "memory": "64GiB", "gpu": 8}),
]
_NAMESPACES = ("research", "vision", "serving", "analytics", "students", "batch")
_OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-sync"]
READY = "#main[aria-busy=false]"
#: Linux may give every session the same share of the processor, whatever its programs' niceness: so the session, too.
_STARTER = """#!/bin/sh
read -r _ _ _ _ _ session _ < /proc/$$/stat
[ "$session" = $$ ] && echo 19 2> /dev/null > /proc/$$/autogroup
exec chrt --idle 0 PROGRAM "$@"
"""


@contextmanager
def large(bench: Bench) -> Iterator[Server]:
    """The server, once all of its work was submitted and decided."""
    with bench.folder() as folder, running(folder, fleet=FLEET) as server, server.client() as client:
        server.post_until_accepted(client, {"name": "first"})
        for body in _batches():
            client.post("/workloads", content=body, headers={"Content-Type": "application/json"}).raise_for_status()
        give_up_at = time.monotonic() + ANSWER_WITHIN_S
        while (summary := client.get("/summary").json())["decisions_total"] <= WORKLOADS:
            server.check_alive(f"{summary['decisions_total']} decisions", give_up_at)
            time.sleep(0.2)
        bench.say(f"{NODES:,} nodes; workloads: {summary['workloads']}")
        yield server


def _batches() -> list[bytes]:
    chance = random.Random(1)
    shapes = [shape for count, shape in _SHAPES for _ in range(count)]
    chance.shuffle(shapes)
    work = [
        {"name": f"job-{number:05}", "namespace": chance.choice(_NAMESPACES), "resources": shape}
        for number, shape in enumerate(shapes)
    ]
    return [orjson.dumps(work[start : start + BATCH]) for start in range(0, len(work), BATCH)]


def _starter(folder: Path, name: str, program: str) -> Path:
    made = folder / name
    made.write_text(_STARTER.replace("PROGRAM", program))
    made.chmod(made.stat().st_mode | stat.S_IXUSR)
    return made


@contextmanager
def chromium(folder: Path | None = None) -> Iterator[Any]:
    """`folder`: where to put a starter that gives everybody else the processor first."""
    found = program()
    if found is None or missing():
        raise NotRun(missing())
    from playwright.sync_api import sync_playwright

    if folder is not None:
        found = str(_starter(folder, "modest-chromium", found))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=_OPTIONS)
        try:
            yield browser
        finally:
            browser.close()


def logged_in(browser: Any, server: Server) -> Any:
    """What a browser keeps of a login: for as many contexts as are needed."""
    with server.client() as client:
        link = client.post("/login/links").raise_for_status().json()["path"]
    context = browser.new_context()
    page = context.new_page()
    page.goto(server.url + link)
    page.wait_for_selector(READY, timeout=60_000)
    state = context.storage_state()
    context.close()
    return state
