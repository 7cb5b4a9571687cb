"""What 2,000 instance types × zones, as nodes that do not exist yet, add to a decision.

The same work, every task another shape that fits almost everywhere, is decided by two engines in one run: one with
1,000 machines of one's own, and one that also has 2,000 nodes of the shipped catalogue. The figures are the differences
of the middle and of the slowest hundredth.
"""

import random
from collections.abc import Iterator
from itertools import islice

from benchmarks.clusters import nodes
from benchmarks.engine.deciding import engine_with, timed_decisions
from benchmarks.harness import Bench, Measured, at_most, benchmark
from benchmarks.measuring import middle, quantile, quiet
from dovetail.backends.cloud_catalogue.offered_types import CatalogueView, offered_types
from dovetail.backends.cloud_catalogue.price_table import price_table
from dovetail.backends.cloud_catalogue.selection import CloudSelection
from dovetail.model.node import Node
from dovetail.model.resources import ResourceRequest
from dovetail.model.workloads.workload import Workload

ADDED = at_most("cloud.candidates.added_p50", 1.0, "ms")
ADDED_P99 = at_most("cloud.candidates.added_p99", 1.0, "ms")
OWN, LAUNCHABLE = 1000, 2000
SAMPLES, ROUNDS = 1000, 5


@benchmark(ADDED, ADDED_P99)
def candidates(bench: Bench) -> Iterator[tuple[str, Measured]]:
    own = list(nodes(OWN))
    both = own + list(islice(launchable(), LAUNCHABLE))
    added, added_p99 = [], []
    for seed in range(ROUNDS + 1):
        work = list(shapes(SAMPLES, seed))
        p50, p99 = {}, {}
        for name, cluster in (("alone", own), ("both", both)):
            engine = engine_with(cluster)
            with quiet():
                times_s, _ = timed_decisions(engine, work)
            p50[name], p99[name] = quantile(times_s, 0.5) * 1000, quantile(times_s, 0.99) * 1000
        said = f"p50 {p50['alone']:.3f} and {p50['both']:.3f} ms, p99 {p99['alone']:.3f} and {p99['both']:.3f} ms"
        bench.say(f"{OWN:,} nodes, and {len(both):,}: {said}" + ("" if seed else " (warming up)"))
        added.append(p50["both"] - p50["alone"])
        added_p99.append(p99["both"] - p99["alone"])
    yield ADDED.name, middle(added[1:], f"rounds of {SAMPLES:,}")
    yield ADDED_P99.name, middle(added_p99[1:], f"rounds of {SAMPLES:,}")


def launchable() -> Iterator[Node]:
    """Types of the shipped table in three zones of each region, on demand and as spot, in no order of price."""
    rows = price_table("aws")
    zones = {(row.region, row.type): [f"{row.region}{zone}" for zone in "abc"] for row in rows}
    wanted = CloudSelection(regions=sorted({row.region for row in rows}), spot="allowed")
    offered = offered_types("aws", CatalogueView(rows, zones), wanted)
    random.Random(1).shuffle(offered)
    for kind in offered:
        yield kind.node.model_copy(update={"name": f"{kind.name}-1"})


def shapes(count: int, seed: int) -> Iterator[Workload]:
    chance = random.Random(seed)
    for number in range(count):
        amounts = ResourceRequest(cpu=chance.randint(50, 2000) / 1000, memory=chance.randint(64, 2048) * 2**20)
        yield Workload(name=f"task-{number}", resources=amounts)
