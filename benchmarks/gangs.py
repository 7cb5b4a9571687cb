"""Gangs that have to lie together in the network: how long one large one takes, and how fast a mix of jobs goes.

`gangs.large`: 4,000 nodes of 8 GPUs in two spines, 70 % of the nodes taken whole at random; a gang of 512 nodes has to
be in one spine and would like one leaf, which is too small. `gangs.refused`: one that no spine has room for. Everything
goes through `Engine.handle`. KAI's own scale results have 48.7 s for a gang of 512 pods with a topology, and 249.5 s
for the verdict that one cannot be placed. `gangs.mixed`: jobs of one GPU to 64 nodes (`gang_mix`), on 10,000 GPUs and
on 100,000.
"""

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from time import perf_counter
from typing import Any

from benchmarks.engine.deciding import NOW, engine_with
from benchmarks.gang_fabric import GPUS, Fabric, gang
from benchmarks.harness import Bench, Measured, at_least, at_most, benchmark
from benchmarks.measuring import fastest, middle, once, quantile, quiet
from dovetail.engine.engine import Engine
from dovetail.model.command import Bind, Command, attempt_key
from dovetail.model.event import CancelAsked, Submitted, TaskFinished, Tick
from dovetail.model.workloads.workload import Workload

LARGE_P50 = at_most("gangs.large.p50", 100.0, "ms")
LARGE_P99 = at_most("gangs.large.p99", 100.0, "ms")
REFUSED_P50 = at_most("gangs.refused.p50", 100.0, "ms")
REFUSED_P99 = at_most("gangs.refused.p99", 100.0, "ms")
MIXED_RATE = at_least("gangs.mixed.1250_nodes", 1_000.0, "decisions/s")
MIXED_P99 = at_most("gangs.mixed.1250_nodes.p99", 20.0, "ms")
MIXED_MEMORY = at_most("gangs.mixed.1250_nodes.memory", 256.0, "MB")
MANY_P99 = at_most("gangs.mixed.12500_nodes.p99", 200.0, "ms")

NODES, FULL = 4_000, 0.7
FABRIC = Fabric(rack_nodes=20, leaf_racks=10, spine_leaves=10)
GANG, TOO_MANY = 512, 1_024
QUESTIONS = 20
JOBS, ROUNDS = 1_500, 3


class Fleet:
    """The 4,000 nodes, with whole nodes taken at random."""

    def __init__(self) -> None:
        taken = set(random.Random(11).sample(range(NODES), int(FULL * NODES)))
        nodes = [
            node.model_copy(update={"labels": node.labels | {"taken": str(number in taken)}})
            for number, node in enumerate(FABRIC.nodes(NODES))
        ]
        self.engine: Engine = engine_with(nodes)
        asked = {"cpu": 64, "memory": "512GiB", "gpu": GPUS}
        fields = {"name": "others", "replicas": len(taken), "resources": asked, "node_selector": {"taken": "True"}}
        placed = self._hear(1, Workload.model_validate(fields))[1]
        assert len(placed) == len(taken)
        self._next = 2

    def _hear(self, id_: int, spec: Workload) -> tuple[float, list[Bind]]:
        self.engine.handle(Submitted(id_, spec), NOW)
        commands: list[Command] = []
        began = perf_counter()
        while self.engine.busy:
            commands += self.engine.handle(Tick(10_000), NOW)
        elapsed_s = perf_counter() - began
        self.engine.take_changes(NOW)
        return elapsed_s, [command for command in commands if isinstance(command, Bind)]

    def decide_s(self, nodes: int, fits: bool) -> float:
        """How long the engine takes over one gang; afterwards all is as it was."""
        id_, self._next = self._next, self._next + 1
        spec = gang(f"gang-{id_}", nodes, required="spine", preferred="leaf")
        elapsed_s, placed = self._hear(id_, spec)
        assert len(placed) == (nodes if fits else 0), f"{len(placed)} of {nodes} were placed"
        if fits:
            for bind in placed:
                self.engine.handle(TaskFinished(bind.task, attempt_key(bind.task, 1), 0, "done"), NOW)
        else:
            self.engine.handle(CancelAsked(id_, "asked and answered"), NOW)
        self.engine.take_changes(NOW)
        return elapsed_s


@benchmark(LARGE_P50, LARGE_P99, REFUSED_P50, REFUSED_P99)
def one_large_gang(bench: Bench) -> Iterator[tuple[str, Measured]]:
    fleet = Fleet()
    for p50, p99, nodes, fits in ((LARGE_P50, LARGE_P99, GANG, True), (REFUSED_P50, REFUSED_P99, TOO_MANY, False)):
        fleet.decide_s(nodes, fits)
        with quiet():
            times_ms = [fleet.decide_s(nodes, fits) * 1000 for _ in range(QUESTIONS)]
        bench.say(f"{nodes} nodes: median {quantile(times_ms, 0.5):.1f} ms, worst {max(times_ms):.1f} ms")
        yield p50.name, middle(times_ms, "gangs")
        yield p99.name, once(quantile(times_ms, 0.99), f"of {QUESTIONS} gangs")


def _mix(nodes: int, jobs: int, rounds: int) -> dict[str, Any]:
    """In a process of its own, so that its memory is its own as well."""
    command = [sys.executable, "-m", "benchmarks.gang_mix", str(nodes), str(jobs), str(rounds)]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


@benchmark(MIXED_RATE, MIXED_P99, MIXED_MEMORY)
def mixed_jobs_on_ten_thousand_gpus(bench: Bench) -> Iterator[tuple[str, Measured]]:
    found = _mix(1_250, JOBS, ROUNDS)
    bench.say(f"{max(found['rates']):,.0f} tasks/s, p99 {min(found['p99s_ms']):.1f} ms a job")
    yield MIXED_RATE.name, fastest(found["rates"])
    yield MIXED_P99.name, middle(found["p99s_ms"], f"p99s of {JOBS} jobs")
    yield MIXED_MEMORY.name, once(found["peak_mb"], "VmHWM of the whole process")


@benchmark(MANY_P99)
def mixed_jobs_on_a_hundred_thousand_gpus(bench: Bench) -> Iterator[tuple[str, Measured]]:
    found = _mix(12_500, JOBS, ROUNDS)
    bench.say(f"{max(found['rates']):,.0f} tasks/s, p99 {min(found['p99s_ms']):.1f} ms a job")
    yield MANY_P99.name, middle(found["p99s_ms"], f"p99s of {JOBS} jobs")
