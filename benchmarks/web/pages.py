"""How soon every page is there: first paint, and with its data; and how large everything is that it loads.

Each page is opened by a browser that has nothing in its cache. The slowest page counts, each by the median of its
rounds. Sizes are uncompressed.
"""

from collections.abc import Iterator
from statistics import median
from typing import Any

from benchmarks.control.server import Server
from benchmarks.harness import Bench, Measured, at_most, benchmark
from benchmarks.web.large import READY, chromium, large, logged_in
from dovetail.web.assets import FOLDER
from dovetail.web.page_table import PAGES

PAINT = at_most("web.first_paint", 1500.0, "ms")
INTERACTIVE = at_most("web.interactive", 2500.0, "ms")
ASSETS = at_most("web.assets", 300.0, "kB")
ROUNDS = 3

_NOTE = """
new MutationObserver(() => {
  const main = document.querySelector('#main[aria-busy=false]');
  if (main && !main.querySelector('.skeleton') && window.interactiveAt === undefined)
    window.interactiveAt = performance.now();
}).observe(document, { childList: true, subtree: true, attributes: true });
"""
_TOLD = """() => ({
  paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime,
  interactive: window.interactiveAt,
  bytes: [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
    .filter((one) => !one.name.includes('/api/')).reduce((sum, one) => sum + one.decodedBodySize, 0),
})"""


def addresses() -> list[str]:
    """Of every page, with something to show where it names one thing."""
    named = {"/workload": "/workload/research/{workload}", "/node": "/node/gpu-s1-l1-n01"}
    there = [page.path for page in PAGES if (FOLDER / "pages" / page.module).exists() and page.path != "/login"]
    return [named.get(path, path) for path in there]


@benchmark(PAINT, INTERACTIVE, ASSETS)
def pages(bench: Bench) -> Iterator[tuple[str, Measured]]:
    found: dict[str, list[dict[str, float]]] = {}
    with large(bench) as server, server.client() as client, chromium() as browser:
        workload = client.get("/workloads", params={"namespace": "research", "limit": 1}).json()["items"][0]["name"]
        session = logged_in(browser, server)
        for path in (one.format(workload=workload) for one in addresses()):
            found[path] = [_open(browser, server, session, path) for _ in range(ROUNDS)]
            paint, ready, size = (
                median(one[name] for one in found[path]) for name in ("paint", "interactive", "bytes")
            )
            bench.say(f"{path}: paint {paint:.0f} ms, interactive {ready:.0f} ms, {size / 1000:.0f} kB")
    for bar, name, scale in ((PAINT, "paint", 1.0), (INTERACTIVE, "interactive", 1.0), (ASSETS, "bytes", 1000.0)):
        yield bar.name, _slowest({path: median(one[name] for one in rounds) / scale for path, rounds in found.items()})


def _open(browser: Any, server: Server, session: Any, path: str) -> dict[str, float]:
    context = browser.new_context(storage_state=session, viewport={"width": 1440, "height": 900})
    try:
        page = context.new_page()
        page.add_init_script(_NOTE)
        page.goto(server.url + path)
        page.wait_for_selector(READY, timeout=60_000)
        page.wait_for_function("() => window.interactiveAt !== undefined")
        told: dict[str, float] = page.evaluate(_TOLD)
        return told
    finally:
        context.close()


def _slowest(by_page: dict[str, float]) -> Measured:
    worst = max(by_page, key=lambda path: by_page[path])
    return Measured(by_page[worst], min(by_page.values()), by_page[worst], f"worst of {len(by_page)} pages: {worst}")
