"""How long an estimate of a gang's communication takes: it is made for every gang that is placed.

512 nodes of 4,000: by levels scattered over the whole cluster, which is the worst; by a graph of links side by side
under 16 leaves, as a gang is placed, and, for the record, scattered over all 125 of them. The ways between leaves are
known when it is measured, as they are when a second gang comes.
"""

from collections.abc import Iterator, Sequence
from time import perf_counter

import numpy as np

from benchmarks.harness import Bar, Bench, Better, Measured, at_most, benchmark
from benchmarks.measuring import middle, quiet
from dovetail.cluster.state import Cluster
from dovetail.model.network.topology import Topology
from dovetail.model.node import Node
from dovetail.model.resources import Capacity
from dovetail.placement.network_cost.communication import CommunicationModel

NODES, LEAF, SPINES, RANKS = 4000, 32, 8, 512
ROUNDS = 30
MS = 1000.0

LEVELS = at_most("communication.estimate_512_levels_ms", 5.0, "ms")
LINKS = at_most("communication.estimate_512_links_ms", 5.0, "ms")
SCATTERED = Bar("communication.estimate_512_links_scattered_ms", "ms", Better.LOWER, None)


def _cluster(topology: Topology) -> Cluster:
    cluster = Cluster()
    cluster.set_topology(topology)
    for index in range(NODES):
        cluster.join(Node(name=f"n{index}", capacity=Capacity(cpu=4)))
    return cluster


def _levels() -> Topology:
    nodes = {f"n{i}": {"spine": f"s{i // (NODES // SPINES)}", "leaf": f"l{i // LEAF}"} for i in range(NODES)}
    return Topology.model_validate({"levels": [{"name": "spine"}, {"name": "leaf"}], "nodes": nodes})


def _links() -> Topology:
    leaves = [f"l{i}" for i in range(NODES // LEAF)]
    spines = [f"s{i}" for i in range(SPINES)]
    speed = {"bandwidth": "400Gbps", "latency": "1us"}
    links = [{"from": f"n{i}", "to": leaves[i // LEAF], **speed} for i in range(NODES)]
    links += [{"from": leaf, "to": spine, **speed} for leaf in leaves for spine in spines]
    return Topology.model_validate({"switches": [*leaves, *spines], "links": links})


def _timed(communication: CommunicationModel, rows: Sequence[int]) -> Measured:
    assert communication.estimate(rows) is not None, "every node is in the network"
    rounds = []
    with quiet():
        for _ in range(ROUNDS):
            begin = perf_counter()
            communication.estimate(rows)
            rounds.append((perf_counter() - begin) * MS)
    return middle(rounds, f"of {RANKS} ranks on {NODES:,} nodes")


@benchmark(LEVELS, LINKS, SCATTERED)
def estimate(bench: Bench) -> Iterator[tuple[str, Measured]]:
    scattered = np.random.default_rng(1).permutation(NODES)[:RANKS].tolist()
    yield LEVELS.name, _timed(CommunicationModel(_cluster(_levels())), scattered)
    bench.say("levels done; now a graph of links")
    graph = CommunicationModel(_cluster(_links()))
    yield LINKS.name, _timed(graph, range(RANKS))
    yield SCATTERED.name, _timed(graph, scattered)
