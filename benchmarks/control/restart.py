"""From the start of the process to the first new decision, with 100,000 tasks placed before.

The database is made once by the engine itself, with records as the loop writes them: explained and running. The clock
starts with the process and stops when a workload submitted as soon as the server takes it is reported placed, so it
covers the interpreter, the restore, and taking all tasks up again with the backend. Two mixes: several replicas each,
and the hardest, every task a workload of its own.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx

from benchmarks.control.server import ANSWER_WITHIN_S, BACKEND, FLEET, POLL_S, database, running
from benchmarks.harness import Bench, Measured, at_most, benchmark
from benchmarks.measuring import middle
from dovetail.backends.simulated.fleet import fleet
from dovetail.engine.engine import Engine
from dovetail.model.batch import Batch
from dovetail.model.command import Bind
from dovetail.model.event import NodeJoined, Submitted, TaskStarted, Tick
from dovetail.model.record import NewWorkload
from dovetail.model.workloads.workload import Workload
from dovetail.store.sql import sqlite_store

TASKS = 100_000
REPLICATED = at_most("control.restart.100000_tasks", 5.0, "s")
SINGLE = at_most("control.restart.100000_workloads", 5.0, "s")
ROUNDS = 3
AT_ONCE = 2000  # tasks a transaction
SIZES = (("50m", "64MiB"), ("100m", "128MiB"), ("100m", "256MiB"), ("150m", "512MiB"))


@benchmark(REPLICATED)
def many_replicas(bench: Bench) -> Iterator[tuple[str, Measured]]:
    yield REPLICATED.name, middle(_rounds_s(bench, replicas=20))


@benchmark(SINGLE)
def one_task_each(bench: Bench) -> Iterator[tuple[str, Measured]]:
    yield SINGLE.name, middle(_rounds_s(bench, replicas=1))


def _rounds_s(bench: Bench, replicas: int) -> list[float]:
    with bench.folder() as folder:
        bench.say(f"writing {TASKS:,} placed tasks, {replicas} a workload")
        _prepare(database(folder), replicas)
        rounds = []
        for number in range(ROUNDS):
            rounds.append(_restart_s(folder, f"new-{number}"))
            bench.say(f"{rounds[-1]:.2f} s")
        return rounds


def _restart_s(folder: Path, name: str) -> float:
    began = time.perf_counter()
    with running(folder) as server, server.client() as client:
        id_ = server.post_until_accepted(client, {"name": name, "resources": {"cpu": "10m"}})
        give_up_at = time.monotonic() + ANSWER_WITHIN_S
        while not _placed(client, id_):
            server.check_alive(f"workload {id_} should be placed", give_up_at)
            time.sleep(POLL_S)
        elapsed_s = time.perf_counter() - began
        states = client.get("/summary").raise_for_status().json()["workloads"]
        if sum(states.values()) != states["running"] + states["starting"]:
            raise RuntimeError(f"not everything survived the restart: {states}")
        return elapsed_s


def _placed(client: httpx.Client, id_: int) -> bool:
    return bool(client.get(f"/workloads/{id_}").raise_for_status().json()["active"])


def _prepare(path: Path, replicas: int) -> None:
    """Place all tasks with an engine and store what it says."""
    path.parent.mkdir(parents=True)
    engine, store = Engine(), sqlite_store(path)
    store.open()
    for node in fleet(FLEET, BACKEND):
        engine.handle(NodeJoined(node), 0.0)
    now = time.time()
    for first in range(1, TASKS // replicas + 1, AT_ONCE // replicas):
        submitted = [_accept(engine, first + i, replicas, now) for i in range(AT_ONCE // replicas)]
        for command in engine.handle(Tick(AT_ONCE), now):
            assert isinstance(command, Bind)
            engine.handle(TaskStarted(command.task, command.key), now)
        store.write(Batch(submitted=submitted, changes=engine.take_changes(now)))
    placed = len(engine._state.cluster.placements.by_task)
    store.close()
    if placed != TASKS:
        raise RuntimeError(f"{placed} of {TASKS} tasks were placed; the cluster is too small for them")


def _accept(engine: Engine, id_: int, replicas: int, now: float) -> NewWorkload:
    cpu, memory = SIZES[id_ % len(SIZES)]
    fields = {"name": f"old-{id_}", "replicas": replicas, "resources": {"cpu": cpu, "memory": memory}}
    spec = Workload.model_validate(fields)
    engine.handle(Submitted(id_, spec), now)
    return NewWorkload.of(id_, spec, engine.terms_json(id_), now, engine.queue_path(id_))
