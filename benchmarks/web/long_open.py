"""A page that is open for days must not grow: the memory of its scripts over thousands of updates.

Pauses are a fiftieth of what they are, and after the first answers the page gets made-up ones: events without end, and
a map on which other nodes change each time. Everything between the network and the screen is real. A busy
cluster updates a map ten times a second at most, so a day is fewer than a million updates. Measured after garbage
collection, several times: the median of all slopes (Theil–Sen), because a browser may also take a piece once.
"""

from collections.abc import Iterator
from typing import Any

from scipy.stats import theilslopes

from benchmarks.control.server import Server
from benchmarks.harness import Bench, Measured, at_most, benchmark
from benchmarks.web.large import READY, chromium, large, logged_in

MAP = at_most("web.memory.map", 1.0, "MB/10,000 updates")
OVERVIEW = at_most("web.memory.overview", 1.0, "MB/10,000 updates")
WARM_UP, UPDATES, TIMES = 1000, 5000, 6
MB = 1e6

_FASTER = """
const pause = window.setTimeout;
window.setTimeout = (call, ms, ...rest) => pause(call, (ms ?? 0) / 50, ...rest);
const real = window.fetch;
const kept = new Map();
window.updates = 0;
const row = (seq) => ({ seq, at: Date.now() / 1000, kind: 'node', message: 'made up', workload: null, replica: null,
  node: 'gpu-s1-l1-n01', backend: null, namespace: null, name: null });
function endless() {
  let seq = 1e9;
  const text = new TextEncoder();
  return new ReadableStream({
    pull: (controller) => new Promise((done) => pause(() => {
      seq += 1;
      controller.enqueue(text.encode(`data: ${JSON.stringify(row(seq))}\\n\\n`));
      done();
    }, 1)),
  });
}
function changed(whole) {
  const rows = Array.from({ length: 20 }, () => Math.floor(Math.random() * whole.nodes.row.length));
  const places = [...new Set(rows)];
  const some = ([name, column]) => [name, places.map((at) => column[at])];
  const nodes = Object.fromEntries(Object.entries(whole.nodes).map(some));
  nodes.gpu_used = nodes.gpu_used.map((used) => [...used].map(() => '05A'[Math.floor(Math.random() * 3)]).join(''));
  return { ...whole, full: false, nodes, gone: [], version: `made-${window.updates}` };
}
window.fetch = async (url, options) => {
  const path = String(url).split('?')[0];
  if (options?.headers?.Accept === 'text/event-stream') return new Response(endless());
  if (!kept.has(path)) {
    const answer = await real(url, options);
    kept.set(path, { body: await answer.clone().text(), headers: answer.headers, status: answer.status });
    return answer;
  }
  const { body, headers } = kept.get(path);
  window.updates += 1;
  const kind = { 'Content-Type': headers.get('Content-Type') };
  if (!path.endsWith('/topology/map')) return new Response(body, { headers: kind });
  return Response.json(changed(JSON.parse(body)));
};
"""


@benchmark(MAP, OVERVIEW)
def long_open(bench: Bench) -> Iterator[tuple[str, Measured]]:
    with large(bench) as server, chromium() as browser:
        session = logged_in(browser, server)
        for bar, path in ((MAP, "/topology"), (OVERVIEW, "/")):
            sizes = _sizes(browser, server, session, path)
            bench.say(f"{path}: " + ", ".join(f"{size / MB:.2f} MB" for size in sizes.values()))
            found = theilslopes([size / MB for size in sizes.values()], [updates / 10_000 for updates in sizes])
            first, *_, last = (size / MB for size in sizes.values())
            how = f"{first:.1f} MB and {last:.1f} MB, {UPDATES:,} updates later"
            yield bar.name, Measured(float(found.slope), float(found.low_slope), float(found.high_slope), how)


def _sizes(browser: Any, server: Server, session: Any, path: str) -> dict[int, float]:
    """In bytes, by the number of updates, from the end of the warm-up on."""
    context = browser.new_context(storage_state=session, viewport={"width": 1440, "height": 900})
    try:
        page = context.new_page()
        page.add_init_script(_FASTER)
        page.goto(server.url + path)
        page.wait_for_selector(READY, timeout=60_000)
        inspector = context.new_cdp_session(page)
        sizes = {}
        for updates in range(WARM_UP, WARM_UP + UPDATES + 1, UPDATES // (TIMES - 1)):
            page.wait_for_function(f"() => window.updates >= {updates}", timeout=600_000)
            for _ in range(3):
                inspector.send("HeapProfiler.collectGarbage")
            sizes[updates] = float(inspector.send("Runtime.getHeapUsage")["usedSize"])
        return sizes
    finally:
        context.close()
