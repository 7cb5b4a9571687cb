"""The process that holds 100,000 nodes: run by `latency` as `python -m benchmarks.engine.large_cluster`.

Prints one JSON object: the p99 of each round, and the most memory that the process ever held. Workloads are made one
at a time and dropped, so that what counts is the engine, not the list of questions to it.
"""

import json
import sys

from benchmarks.clusters import different_shapes, nodes
from benchmarks.engine.deciding import engine_with, timed_decisions
from benchmarks.measuring import quantile, quiet
from benchmarks.process_memory import MB, peak_resident_bytes

NODES = 100_000
SAMPLES = 2000
ROUNDS = 3
WARM_UP = 50


def main() -> None:
    engine = engine_with(nodes(NODES))
    timed_decisions(engine, different_shapes(WARM_UP, seed=0))
    rounds_ms = []
    with quiet():
        for seed in range(1, ROUNDS + 1):
            times_s, _ = timed_decisions(engine, different_shapes(SAMPLES, seed), first_id=1 + seed * SAMPLES)
            rounds_ms.append(quantile(times_s, 0.99) * 1000)
            reached = f"  p99 {rounds_ms[-1]:.2f} ms, peak {peak_resident_bytes() / MB:.0f} MB"
            print(reached, file=sys.stderr, flush=True)
    print(json.dumps({"p99_ms": rounds_ms, "peak_bytes": peak_resident_bytes()}))


if __name__ == "__main__":
    main()
