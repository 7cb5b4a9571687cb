"""The engine against the plain scheduler that looks at one node at a time, on the same tasks in the same state.

The reference is the tests' oracle: written from the rules, no arrays, nothing kept. They take turns of several
tasks, so that noise hits both and neither always finds the processor's caches full of the other's data. Both must
choose the same nodes, or the race would not be about the same work.
"""

from collections.abc import Iterator
from statistics import median
from time import perf_counter

from tests.reference import ReferenceNode, ReferenceScheduler

from benchmarks.clusters import different_shapes, nodes
from benchmarks.engine.deciding import engine_with, timed_decisions
from benchmarks.harness import Bench, Measured, at_least, benchmark
from benchmarks.measuring import middle, quiet
from dovetail.placement.pipeline.profiles import BUILT_IN

NODES = 5000
TURNS, TASKS = 3, 15
ROUNDS = 3
OVER_REFERENCE = at_least("engine.different_shapes.over_reference", 100.0, "×")


@benchmark(OVER_REFERENCE)
def over_reference(bench: Bench) -> Iterator[tuple[str, Measured]]:
    ratios = []
    for seed in range(ROUNDS):
        with quiet():
            engine_s, reference_s = _medians_s(seed)
        ratios.append(reference_s / engine_s)
        bench.say(f"{engine_s * 1e6:.0f} µs against {reference_s * 1e3:.1f} ms is {ratios[-1]:.0f} times faster")
    yield OVER_REFERENCE.name, middle(ratios, f"ratios of medians of {TURNS * TASKS} decisions")


def _medians_s(seed: int) -> tuple[float, float]:
    cluster = list(nodes(NODES, seed))
    engine = engine_with(cluster)
    reference = ReferenceScheduler(BUILT_IN["balanced"])
    reference.nodes = [ReferenceNode(node) for node in cluster]  # `join` looks for the name first, node by node
    engine_times: list[float] = []
    reference_times: list[float] = []
    workloads = list(different_shapes(TURNS * TASKS, seed))
    for first in range(0, len(workloads), TASKS):
        turn = workloads[first : first + TASKS]
        times, decisions = timed_decisions(engine, turn, first_id=1 + first)
        engine_times += times
        for workload, decision in zip(turn, decisions, strict=True):
            began = perf_counter()
            chosen = reference.decide(workload, str(decision.task))
            reference_times.append(perf_counter() - began)
            if chosen is None or chosen != decision.node:
                raise RuntimeError(f"{workload.name}: the engine chose {decision.node}, the reference {chosen}")
            reference.place(workload, decision.task, chosen)
    return median(engine_times), median(reference_times)
