"""What an open dashboard costs the control loop: the map of 1,250 nodes with eight GPUs each, the samples of trends and
what needs attention, with 20,000 workloads; and how long a page of a sorted list takes the store.

Time is that of the processor, in the thread that asks: what counts is how long decisions would wait. `…_piece` is the
longest part between two turns of the loop.
"""

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import thread_time
from typing import Any

import orjson

from benchmarks.harness import Bench, Measured, at_most, benchmark
from benchmarks.measuring import middle, once, quiet
from dovetail.api.topology_map import columns_of
from dovetail.engine.engine import Engine
from dovetail.engine.pieces import Pieces, in_one
from dovetail.engine.questions.questions import Questions
from dovetail.engine.settings import EngineSettings
from dovetail.model.batch import Batch
from dovetail.model.event import NodeJoined, Submitted, Tick
from dovetail.model.node import Node
from dovetail.model.record import NewWorkload
from dovetail.model.workloads.workload import Workload
from dovetail.store.contract import WORKLOAD_SORTS, WorkloadFilter
from dovetail.store.sql import sqlite_store

MAP_BYTES = at_most("overview.map_bytes", 100_000, "bytes")
MAP = at_most("overview.map_ms", 20.0, "ms")
MAP_KEPT = at_most("overview.map_again_ms", 5.0, "ms")
PIECE = at_most("overview.longest_piece_ms", 10.0, "ms")
NODE_USE = at_most("overview.node_use_sample_ms", 1.0, "ms")
PAGE = at_most("overview.list_page_ms", 50.0, "ms")

SPINES, LEAVES, NODES = 5, 10, 25
RUNNING, WAITING, ROUNDS = 300, 20_000, 5


@benchmark(MAP_BYTES, MAP, MAP_KEPT, PIECE, NODE_USE)
def dashboard(_: Bench) -> Iterator[tuple[str, Measured]]:
    engine = _busy()
    first: list[float] = []
    again: list[float] = []
    pieces: list[float] = []
    shares: list[float] = []
    size = 0
    with quiet():
        for _round in range(ROUNDS):
            questions = Questions(engine)
            parts, found = _timed(questions.map.map(0.0))
            first.append(sum(parts))
            again.append(sum(_timed(questions.map.map(0.0))[0]))
            size = len(orjson.dumps(columns_of(found)))
            longest = [max(_timed(one)[0]) for one in (questions.trends.sample(0.0), questions.attention.findings())]
            pieces.append(max(max(parts), *longest))
            shares.append(sum(_timed(in_one(partial(questions.trends.node_shares, 0.0)))[0]))
    yield MAP_BYTES.name, once(size, "columns of all nodes")
    yield MAP.name, middle(first, "maps that were never asked for before")
    yield MAP_KEPT.name, middle(again, "maps that are kept")
    yield PIECE.name, middle(pieces)
    yield NODE_USE.name, middle(shares, "the use of all nodes, every ten seconds")


def _timed(question: Pieces[Any]) -> tuple[list[float], Any]:
    """The milliseconds of each piece, and the answer."""
    parts: list[float] = []
    while True:
        began = thread_time()
        try:
            next(question)
        except StopIteration as end:
            return [*parts, (thread_time() - began) * 1000], end.value
        parts.append((thread_time() - began) * 1000)


def _busy() -> Engine:
    engine = Engine(EngineSettings())
    for spine in range(SPINES):
        for leaf in range(LEAVES):
            for number in range(NODES):
                labels = {"spine": f"s{spine}", "leaf": f"s{spine}-l{leaf}"}
                node = {"name": f"gpu-s{spine}-l{leaf}-n{number}", "labels": labels}
                capacity = {"cpu": 128, "memory": "2TiB", "gpu": 8}
                engine.handle(NodeJoined(Node.model_validate({**node, "capacity": capacity})), 0.0)
    asked = ["500m", 1, 2, "300m"]
    for number in range(RUNNING):
        wanted = {"cpu": 1, "gpu": asked[number % len(asked)]}
        more = {"namespace": f"team-{number % 7}", "deadline": {"run_for": f"{number + 10}m"}}
        work = {"name": f"runs-{number}", "replicas": 20, "resources": wanted, **more}
        engine.handle(Submitted(number, Workload.model_validate(work)), 0.0)
    for number in range(WAITING):
        work = {"name": f"waits-{number}", "resources": {"cpu": 1000 + number % 50}}
        engine.handle(Submitted(RUNNING + number, Workload.model_validate(work)), 0.0)
    while engine.busy:
        engine.handle(Tick(10_000), 0.0)
    engine.take_changes(0.0)
    return engine


@benchmark(PAGE)
def pages(_: Bench) -> Iterator[tuple[str, Measured]]:
    """The slowest order, with the counts that go with a page."""
    with tempfile.TemporaryDirectory() as folder:
        store = sqlite_store(Path(folder) / "lists.db")
        store.open()
        spec = orjson.dumps({"name": "x", "run": {"command": ["python", "-c", "y" * 900]}}).decode()
        for first in range(0, WAITING, 1000):
            store.write(Batch(submitted=[_row(number, spec) for number in range(first, first + 1000)]))
        anything = WorkloadFilter()

        def page(sort: str) -> None:
            store.workloads(anything, 100, None, sort, 0, 2e9)
            store.workload_counts(anything)

        slowest = [max(_spent_ms(lambda sort=sort: page(sort)) for sort in WORKLOAD_SORTS) for _ in range(ROUNDS)]  # type: ignore[misc]
        store.close()
    yield PAGE.name, middle(slowest, "slowest orders")


def _row(number: int, spec: str) -> NewWorkload:
    work = Workload(name=f"job-{number:05}", namespace=f"team-{number % 5}")
    return NewWorkload.of(number + 1, work, "{}", float(number), "default", spec)


def _spent_ms(call: Callable[[], None]) -> float:
    began = thread_time()
    call()
    return (thread_time() - began) * 1000
