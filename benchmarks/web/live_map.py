"""The map of 10,000 GPUs: how soon a change is seen after its event, and how smoothly it pans and zooms."""

from collections.abc import Iterator
from typing import Any

import httpx

from benchmarks.harness import Bench, Measured, at_least, at_most, benchmark
from benchmarks.measuring import quantile
from benchmarks.web.large import READY, chromium, large, logged_in

SEEN = at_most("web.map.event_to_screen", 200.0, "ms")
FRAMES = at_least("web.map.frames", 30.0, "frames/s")
CHANGES = 30
NODE = "gpu-s3-l2-n07"

_DRAWN = "() => document.querySelector('topology-map')?.dataset.version !== undefined"
# `window.seen`: the time of the frame after the one in which the node was drawn with this health
_SEE = """([name, health]) => {
  const map = document.querySelector('topology-map');
  window.seen = new Promise((tell) => {
    const look = () => {
      const { model } = map.what;
      const node = [...model.nodes.values()].find((one) => one.name === name);
      const isDrawn = node.health === health && map.dataset.version === model.version;
      requestAnimationFrame(isDrawn ? () => tell(Date.now() / 1000) : look);
    };
    look();
  });
}"""
_RUN = """([near]) => new Promise((told) => {
  const map = document.querySelector('topology-map');
  map.zoom(near / map.eye.k);
  const began = performance.now();
  let frames = 0;
  const step = () => {
    const elapsed = performance.now() - began;
    if (elapsed > 4000) return told((frames * 1000) / elapsed);
    frames += 1;
    if (elapsed < 2000) map.pan(frames % 40 < 20 ? 14 : -14, frames % 30 < 15 ? 9 : -9);
    else map.zoom(frames % 60 < 30 ? 1.05 : 1 / 1.05, 500, 300);
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})"""


@benchmark(SEEN, FRAMES)
def live_map(bench: Bench) -> Iterator[tuple[str, Measured]]:
    with large(bench) as server, server.client() as client, chromium() as browser:
        context = browser.new_context(storage_state=logged_in(browser, server), viewport={"width": 1440, "height": 900})
        page = context.new_page()
        page.goto(f"{server.url}/topology")
        page.wait_for_selector(READY, timeout=60_000)
        page.wait_for_function(_DRAWN)
        delays_ms = [_delay_ms(page, client, is_cordoned=change % 2 == 0) for change in range(2 * CHANGES)]
        bench.say(f"on the screen after {quantile(delays_ms, 0.5):.0f} ms, at most {max(delays_ms):.0f} ms")
        rates = [page.evaluate(_RUN, [near]) for near in (0.5, 1.0, 2.5)]
        bench.say("frames a second, whole, nearer and near: " + ", ".join(f"{rate:.0f}" for rate in rates))
    how = f"95 of 100 of {len(delays_ms)} changes, after the time of the event"
    yield SEEN.name, Measured(quantile(delays_ms, 0.95), min(delays_ms), max(delays_ms), how)
    yield FRAMES.name, Measured(min(rates), min(rates), max(rates), "slowest of three distances, pan and zoom")


def _delay_ms(page: Any, client: httpx.Client, *, is_cordoned: bool) -> float:
    page.evaluate(_SEE, [NODE, 1 if is_cordoned else 0])
    client.post(f"/nodes/{NODE}/{'cordon' if is_cordoned else 'uncordon'}", json={}).raise_for_status()
    seen_at = page.evaluate("() => window.seen")
    events = client.get("/events", params={"node": NODE, "kind": "node", "newest": "true", "limit": 1}).json()
    return float(seen_at - events["items"][0]["at"]) * 1000
