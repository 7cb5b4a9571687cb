"""The users of the demo: several tenants that submit work over HTTP and sometimes give up waiting.

Before every round they look at the use of GPUs: below the target they submit faster, above it more slowly. Running the
server is left to `serving`, and what they submit to `simulate.stream`.
"""

import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from dovetail.client import Client, ConnectError, DovetailError
from dovetail.model.workloads.workload import Workload
from dovetail.simulate.stream import WISHES, Stream, still_running

if TYPE_CHECKING:
    from dovetail.responses.workloads import AcceptedWorkload

ROUND_S = 0.5
BATCH = 250
WISHES_KEPT = 8  # workloads that fit on no node; older ones are cancelled
EAGERNESS = 20.0  # how strongly the rate reacts to use: at 5 % above the target submissions stop
MOST_FACTOR = 3.0
WINDOW_S = 48 * 3600.0


@dataclass(slots=True)
class DemoCrowd:
    """`rate` workloads a real second keep `target` of `gpus` GPUs busy, on average."""

    rate: float
    speed: float
    gpus: int
    target: float
    seed: int
    stop: threading.Event = field(default_factory=threading.Event)
    _wishes: deque["AcceptedWorkload"] = field(default_factory=deque)

    def stream(self) -> Stream:
        """Run times are stretched until the work that arrives fills as many GPUs as wanted."""
        plain = Stream(rate=self.rate / self.speed)
        scale = self.target * self.gpus / (plain.rate * plain.mean_gpu_seconds)
        return plain.model_copy(update={"run_time_scale": scale})

    def settle_in(self, client: Client) -> list[Workload]:
        """Submit the work that runs when the demo begins, and a few workloads that fit nowhere. Returns all of it.

        In a folder of an earlier demo it submits nothing: the demo goes on with the work of that one.
        """
        if any(client.summary()["workloads"].values()):
            return []
        stream = self.stream()
        window_s = WINDOW_S * stream.run_time_scale
        there = still_running(stream, self.seed, window_s, int(self.gpus * self.target))
        there += [Workload.model_validate({"name": name, **fields}) for name, fields in WISHES.items()]
        for batch in _batches(there):
            if self.stop.is_set():
                break
            client.submit(batch)
        return there

    def work(self, client: Client) -> None:
        """Submit until told to stop. If the server does not answer, try again."""
        # Names begin with the time, so that none of an earlier demo in the same folder is taken.
        stream = self.stream().model_copy(update={"prefix": time.strftime("d%H%M%S")})
        arrivals = stream.arrivals(self.seed + 1)
        owed = 0.0
        while not self.stop.wait(ROUND_S):
            try:
                owed += self.rate * ROUND_S * self._factor(client)
                due = [spec for _, spec in islice(arrivals, int(owed))]
                owed -= len(due)
                for batch in _batches(due):
                    self._wishes.extend(one for one in client.submit(batch) if "-wish-" in one["name"])
                self._give_up(client)
            except (ConnectError, DovetailError):
                continue

    def _factor(self, client: Client) -> float:
        gpu = client.summary()["resources"].get("gpu")
        share = float(gpu["share"]) if gpu is not None else 0.0
        return min(MOST_FACTOR, max(0.0, 1.0 + EAGERNESS * (self.target - share)))

    def _give_up(self, client: Client) -> None:
        while len(self._wishes) > WISHES_KEPT:
            client.cancel(self._wishes.popleft()["id"], reason="its user gave up waiting")


def _batches(specs: Sequence[Workload]) -> Iterator[list[Workload]]:
    for start in range(0, len(specs), BATCH):
        yield list(specs[start : start + BATCH])
