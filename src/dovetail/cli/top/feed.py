"""What the live screen shows, kept up to date by threads of its own, so that no key waits for the server.

One thread follows the stream of events: each event asks for a new look, at most one in `interval_s`. Another looks:
the summary, and the rows of the view that is open. Where the stream does not work, it looks every `interval_s`.
Guarantees: it survives the server. While none answers, the last look stays, `trouble` says what is wrong, and it is
tried again for as long as the screen is open.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dovetail.cli.render.live import Live
from dovetail.client.errors import ConnectError, DovetailError

if TYPE_CHECKING:
    from dovetail.client import Client
    from dovetail.responses.system import ClusterSummary

MOST_ROWS = 1000
SAMPLE_S = 2.0  # between the points of a sparkline
SAMPLES = 60
_QUIET_S = 10.0  # without events; ages of nodes and measured use change without them
_AGAIN_S = 0.5


@dataclass(slots=True)
class ClusterFeed:
    """`connect` makes a client; each thread has its own. `changed` is called when there is something new to show."""

    connect: "Callable[[], Client]"
    changed: Callable[[], None]
    interval_s: float
    view: str = "workloads"
    finished_too: bool = False
    opened: tuple[str, Any] | None = None  # the workload or the node whose details are asked for
    live: Live = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _due: threading.Event = field(default_factory=threading.Event)
    _urgent: threading.Event = field(default_factory=threading.Event)  # the user asked for something else
    _stop: threading.Event = field(default_factory=threading.Event)
    _streams: bool = False
    _samples: deque[tuple[int, float, float]] = field(default_factory=lambda: deque(maxlen=SAMPLES))
    _decisions: tuple[float, int] | None = None
    _per_s: float | None = None

    def start(self) -> None:
        """Raises what the first look raises."""
        with self.connect() as client:
            self.live = self._look(client)
        for work in (self._keep_looking, self._follow):
            threading.Thread(target=work, daemon=True).start()  # a stream that is silent would hold up the end

    def stop(self) -> None:
        self._stop.set()
        self._urgent.set()
        self._due.set()

    def show(self, view: str, finished_too: bool, opened: tuple[str, Any] | None) -> None:
        """What to look at from now on."""
        if (view, finished_too, opened) != (self.view, self.finished_too, self.opened):
            with self._lock:
                self.view, self.finished_too, self.opened = view, finished_too, opened
            self._urgent.set()
            self._due.set()

    # --- threads -------------------------------------------------------------------------------------------------

    def _keep_looking(self) -> None:
        with self.connect() as client:
            while not self._stop.is_set():
                self._due.wait(_QUIET_S if self._streams and not self.live.trouble else self.interval_s)
                self._due.clear()
                self._urgent.clear()
                try:
                    self.live = self._look(client)
                    pause_s = self.interval_s
                except (ConnectError, DovetailError) as error:
                    self.live = self.live.in_trouble(str(error), time.time())
                    pause_s = _AGAIN_S
                self.changed()
                self._urgent.wait(pause_s)

    def _follow(self) -> None:
        with self.connect() as client:
            while not self._stop.is_set():
                try:
                    for _ in client.events():
                        self._streams = True
                        self._due.set()
                        if self._stop.is_set():
                            return
                except (ConnectError, DovetailError):
                    self._streams = False  # looking goes on at its own pace, and says what is wrong
                self._due.set()
                self._stop.wait(_AGAIN_S)

    # --- looking -------------------------------------------------------------------------------------------------

    def _look(self, client: "Client") -> Live:
        with self._lock:
            view, finished_too, opened = self.view, self.finished_too, self.opened
        detail = _detail(client, opened)
        summary = client.summary()
        if opened is not None and self.live.asked[:2] == (view, finished_too):
            rows, total = self.live.rows, self.live.total  # nobody sees them
        else:
            rows, total = _rows(client, view, finished_too)
        now = time.time()
        self._sample(summary, now)
        return Live(
            summary=summary,
            asked=(view, finished_too, opened),
            rows=rows,
            total=total,
            detail=detail,
            use=[use for _, use, _ in self._samples],
            waiting=[waiting for _, _, waiting in self._samples],
            decisions_per_s=self._per_s,
            at=now,
        )

    def _sample(self, summary: "ClusterSummary", now: float) -> None:
        """One point every `SAMPLE_S`; several looks in that time are one point."""
        point = (int(now / SAMPLE_S), main_share(summary), float(summary["waiting"]))
        if self._samples and self._samples[-1][0] == point[0]:
            self._samples[-1] = point
            return
        self._samples.append(point)
        before, total = self._decisions, summary["decisions_total"]
        if before is not None and now > before[0] and total >= before[1]:  # a server that started again counts anew
            self._per_s = (total - before[1]) / (now - before[0])
        self._decisions = now, total


def main_share(summary: "ClusterSummary") -> float:
    """Of the GPUs in use; of the cores where there are none."""
    for name in ("gpu", "cpu"):
        use = summary["resources"].get(name)
        if use is not None and use["capacity"]:
            return float(use["share"])
    return 0.0


def _rows(client: "Client", view: str, finished_too: bool) -> tuple[Sequence[Any], int]:
    """The rows of a view, and how many there are in all; -1: more than these, nobody counted them."""
    if view == "nodes":
        nodes = client.nodes()
        return nodes, len(nodes)
    if view == "pending":
        waiting = client.queue_page(limit=MOST_ROWS)
        return waiting["items"], waiting["total"]
    if view == "queues":
        queues = client.queues()["queues"]
        return queues, len(queues)
    page = client.workloads(unfinished=not finished_too, limit=MOST_ROWS)
    return page["items"], -1 if page["cursor"] else len(page["items"])


def _detail(client: "Client", opened: tuple[str, Any] | None) -> Any:
    if opened is None:
        return None
    kind, name = opened
    try:
        if kind == "node":
            return {"words": client.diagnostics(name), "tasks": client.node_tasks(name)}
        return client.explain(name)
    except DovetailError as error:
        if error.status not in (404, 409):
            raise
        return {"gone": error.detail}  # it ended and was forgotten while it was open
