"""Gauges of the control plane as a whole: what waits and for how long, fragmentation, agents, and whether it is ready.

Read at each look of `Metrics`, on the thread of the control loop. What takes longer than a look up in a table is read
only now and then, however often metrics are scraped.
"""

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from prometheus_client.metrics_core import Metric

from dovetail.control.telemetry.metrics import family
from dovetail.engine.questions.fragmentation import Fragments
from dovetail.engine.questions.questions import Questions
from dovetail.model.device import WHOLE

READ_EVERY_S = 10.0  # what has to look at every node, or at all that waits


class PlaneFigures(NamedTuple):
    """`waiting`: workloads that wait in a queue and below it, by its code."""

    is_ready: bool
    inbox: int
    waiting: Callable[[int], int]
    silent_agents: int
    agents: int


class PlaneGauges:
    def __init__(self, questions: Questions, figures: Callable[[], PlaneFigures]) -> None:
        self._questions, self._figures = questions, figures
        self._read_at: float | None = None
        self._fragments: Fragments | None = None
        self._oldest: float | None = None

    def look(self) -> Iterator[Metric]:
        figures = self._figures()
        self._read_now_and_then()
        placed = self._questions.workloads.placed_tasks
        yield _one("dovetail_ready", "Whether the server takes work and can write its store: 1 or 0", figures.is_ready)
        yield _one("dovetail_inbox_items", "Submissions and reports that the control loop has not taken", figures.inbox)
        yield _one("dovetail_tasks_placed", "Tasks that hold capacity on a node", placed)
        yield family(
            "dovetail_queue_waiting",
            "Workloads with waiting tasks in a queue and all below it",
            ["queue"],
            [([path], figures.waiting(code)) for code, path in self._questions.queues.codes],
        )
        age_s = 0.0 if self._oldest is None else max(0.0, time.time() - self._oldest)
        yield _one(
            "dovetail_oldest_waiting_seconds",
            "How long the workload waits that waits longest for its first start",
            age_s,
        )
        silent = figures.silent_agents
        yield family(
            "dovetail_agents",
            "Nodes with an agent: does it send heartbeats",
            ["state"],
            [(["heard"], figures.agents - silent), (["silent"], silent)],
        )
        yield from self._fragmentation()

    def _read_now_and_then(self) -> None:
        now = time.monotonic()
        if self._read_at is None or now - self._read_at >= READ_EVERY_S:
            self._fragments = self._questions.gauges.cluster_fragments()
            self._oldest = self._questions.queues.oldest_submission()
            self._read_at = now

    def _fragmentation(self) -> Iterator[Metric]:
        found = self._fragments
        if found is None:
            return
        free = found.free or 1
        yield _one("dovetail_gpus_free", "Free GPUs of nodes that take work, parts of them too", found.free / WHOLE)
        yield family(
            "dovetail_gpu_fragmentation_ratio",
            "Of the free GPU capacity: what typical work cannot use on average, and what none of it can use",
            ["kind"],
            [(["unusable"], found.unusable / free), (["useless"], found.useless / free)],
        )


def _one(name: str, words: str, value: float) -> Metric:
    return family(name, words, [], [([], float(value))])
