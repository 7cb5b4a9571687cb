"""How long the slowest hundredth of decisions takes, every task another shape: on 1,000 nodes, and on 100,000.

The large cluster lives in a process of its own (`large_cluster`), so that its memory is its own as well.
"""

import json
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.clusters import different_shapes, nodes
from benchmarks.engine.deciding import engine_with, timed_decisions
from benchmarks.engine.large_cluster import ROUNDS, SAMPLES
from benchmarks.harness import Bench, Measured, at_most, benchmark
from benchmarks.measuring import middle, once, quantile, quiet
from benchmarks.process_memory import MB

SMALL = at_most("engine.different_shapes.1000_nodes.p99", 1.0, "ms")
LARGE = at_most("engine.different_shapes.100000_nodes.p99", 25.0, "ms")
LARGE_MEMORY = at_most("engine.different_shapes.100000_nodes.memory", 512.0, "MB")


@benchmark(SMALL)
def small_cluster(bench: Bench) -> Iterator[tuple[str, Measured]]:
    cluster = list(nodes(1000))
    rounds = []
    for seed in range(ROUNDS + 1):
        engine = engine_with(cluster)
        workloads = list(different_shapes(SAMPLES, seed))
        with quiet():
            times_s, _ = timed_decisions(engine, workloads)
        p99_ms = quantile(times_s, 0.99) * 1000
        bench.say(f"p99 {p99_ms:.3f} ms of {SAMPLES:,} decisions" + ("" if seed else " (warming up)"))
        rounds.append(p99_ms)
    yield SMALL.name, middle(rounds[1:], f"rounds of {SAMPLES:,}")


@benchmark(LARGE, LARGE_MEMORY)
def large_cluster(bench: Bench) -> Iterator[tuple[str, Measured]]:
    bench.say("a process of its own joins 100,000 nodes and decides; a minute or two")
    command = [sys.executable, "-m", "benchmarks.engine.large_cluster"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=1800)
    found = json.loads(done.stdout)
    yield LARGE.name, middle(found["p99_ms"], f"rounds of {SAMPLES:,}")
    yield LARGE_MEMORY.name, once(found["peak_bytes"] / MB, "VmHWM of a process of its own")
