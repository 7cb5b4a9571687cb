"""Decisions a second on 5,000 nodes: ten thousand tasks of one shape, and tasks that are all different."""

from collections.abc import Iterator

from benchmarks.clusters import different_shapes, nodes, one_shape
from benchmarks.engine.deciding import engine_with, throughput
from benchmarks.harness import Bench, Measured, at_least, benchmark
from benchmarks.measuring import fastest, quiet, repeated
from dovetail.model.workloads.workload import Workload

NODES = 5000
ONE_SHAPE = at_least("engine.one_shape.5000_nodes", 20_000, "decisions/s")
DIFFERENT = at_least("engine.different_shapes.5000_nodes", 2_500, "decisions/s")
ROUNDS, WARM_UPS = 5, 1


@benchmark(ONE_SHAPE)
def one_shape_throughput(bench: Bench) -> Iterator[tuple[str, Measured]]:
    yield ONE_SHAPE.name, fastest(_rounds(bench, [one_shape(replicas=10_000)]))


@benchmark(DIFFERENT)
def different_shapes_throughput(bench: Bench) -> Iterator[tuple[str, Measured]]:
    yield DIFFERENT.name, fastest(_rounds(bench, list(different_shapes(5000))))


def _rounds(bench: Bench, workloads: list[Workload]) -> list[float]:
    cluster = list(nodes(NODES))

    def one() -> float:
        engine = engine_with(cluster)
        with quiet():
            rate = throughput(engine, workloads)
        bench.say(f"{rate:,.0f} decisions/s")
        return rate

    return repeated(ROUNDS, WARM_UPS, one)
