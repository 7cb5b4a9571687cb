"""The network at full size: 12,500 nodes in four levels, and links of a fabric of as many hosts.

`topology.domain_update` is one placement and the table of domains brought up to date and read after it, on average over
a thousand changes; `topology.domain_begin` is making the table from nothing. `topology.fabric` is taking in a Clos
fabric of 12,500 hosts as a graph of links: domains, ways and distances, and the labels of all nodes.
"""

from collections.abc import Iterator
from time import perf_counter

from benchmarks.harness import Bar, Bench, Better, Measured, at_most, benchmark
from benchmarks.measuring import middle, quiet, repeated
from dovetail.cluster.network.domain_table import DomainTable
from dovetail.cluster.state import Cluster
from dovetail.model.network.topology import Topology
from dovetail.model.node import Node
from dovetail.model.resources import Capacity
from dovetail.model.task import TaskId

NODES, PER_LEAF, PER_SPINE, PER_ZONE = 12_500, 50, 1_250, 6_250
SPINES_OF_FABRIC = 16
CHANGES = 1_000
STRIDE = 7919  # a prime: changes go all over the cluster
UPDATE = at_most("topology.domain_update", 1.0, "ms")
BEGIN = Bar("topology.domain_begin", "ms", Better.LOWER, None)
FABRIC = Bar("topology.fabric", "s", Better.LOWER, None)
ROUNDS, WARM_UPS = 5, 1


def _cluster() -> Cluster:
    cluster, capacity = Cluster(), Capacity(cpu=128, memory=2**40, gpu=8)
    for number in range(NODES):
        labels = {
            "zone": f"z{number // PER_ZONE}",
            "spine": f"s{number // PER_SPINE}",
            "leaf": f"l{number // PER_LEAF}",
            "rack": f"r{number // (PER_LEAF // 2)}",
        }
        cluster.join(Node(name=f"n{number:05d}", capacity=capacity, labels=labels))
    return cluster


@benchmark(UPDATE, BEGIN)
def domain_table(bench: Bench) -> Iterator[tuple[str, Measured]]:
    cluster = _cluster()
    column = cluster.resources.vector({"cpu": 8000.0, "gpu": 1000.0, "slots": 1.0})

    def begin() -> float:
        began = perf_counter()
        DomainTable(cluster).refresh()
        return (perf_counter() - began) * 1e3

    anew = repeated(ROUNDS, WARM_UPS, begin)
    table = DomainTable(cluster)
    table.refresh()
    tasks = iter(range(10**9))

    def change() -> float:
        """Milliseconds a change."""
        began = perf_counter()
        for _ in range(CHANGES):
            task = next(tasks)
            cluster.place(TaskId(task, 0), (task * STRIDE) % NODES, column)
            table.sums("leaf")
        each_ms = (perf_counter() - began) * 1e3 / CHANGES
        bench.say(f"domain update: {each_ms:.3f} ms")
        return each_ms

    with quiet():
        updates = repeated(ROUNDS, WARM_UPS, change)
    assert (table.sums("leaf") == DomainTable(cluster).sums("leaf")).all(), "the mended table is wrong"
    yield UPDATE.name, middle(updates)
    yield BEGIN.name, middle(anew)


@benchmark(FABRIC)
def fabric(bench: Bench) -> Iterator[tuple[str, Measured]]:
    leaves = NODES // PER_LEAF
    links = [
        {"from": f"n{leaf * PER_LEAF + host:05d}", "to": f"l{leaf}", "bandwidth": "200Gbps", "latency": "1us"}
        for leaf in range(leaves)
        for host in range(PER_LEAF)
    ]
    links += [
        {"from": f"l{leaf}", "to": f"s{spine}", "bandwidth": "400Gbps", "latency": "2us"}
        for leaf in range(leaves)
        for spine in range(SPINES_OF_FABRIC)
    ]
    switches = [f"l{leaf}" for leaf in range(leaves)] + [f"s{spine}" for spine in range(SPINES_OF_FABRIC)]
    topology = Topology.model_validate({"links": links, "switches": switches})
    cluster = _cluster()

    def describe() -> float:
        began = perf_counter()
        cluster.set_topology(topology)
        took_s = perf_counter() - began
        bench.say(f"a fabric of {NODES:,} hosts: {took_s:.2f} s")
        return took_s

    yield FABRIC.name, middle(repeated(ROUNDS, WARM_UPS, describe))
