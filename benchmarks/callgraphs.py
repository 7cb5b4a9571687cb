"""Where the services of real call graphs go: how far their traffic travels, against other ways of placing them.

The 200 largest graphs (of a folder like `callgraphs`: `edges.csv.gz` with source, target, kind and number of calls) are
submitted one after the other, in the order of the file, to one cluster of 64 nodes in 8 racks whose capacity is 1.5
times what all of them ask for. From graph to work:

- Every name in a graph is one service with one task, `USER` too: it stands for the gateway.
- Traffic between two services is the number of calls between them; calls of a service to itself stay out.
- CPU follows the calls that a service handles: 200m, and 200m for each call that it receives for one request, up to 2
  cores. Memory is 2 GiB for caches and databases, 512 MiB for others.

Distances are those of the engine: 0 on one node, 50 in one rack, 100 between racks. The figure of a placement is the
sum over all edges of calls × distance. Three engines place the same work: the services of a graph submitted together
(whole applications); one by one in the order in which the file names them, with the profile `network` (the seed's
score); and one by one with the profile `kubernetes`, kube-scheduler's default weights, which know nothing of traffic.

The small ones, up to 12 services, are also placed each by itself on 8 nodes in 4 racks with 1.5 times their demand, and
compared with the optimum by CP-SAT. The largest one of at least 200 services is timed on the whole cluster, from
handing in to the last decision.
"""

import csv
import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from benchmarks.harness import Bench, Measured, NotRun, at_most, benchmark
from benchmarks.measuring import middle, repeated
from dovetail.engine.engine import Engine
from dovetail.engine.settings import EngineSettings
from dovetail.model.event import NodeJoined, Submitted, Tick
from dovetail.model.node import Node
from dovetail.model.workloads.workload import Workload
from dovetail.placement.applications.problem import ApplicationProblem, is_valid, no_pull
from dovetail.placement.applications.search import solve

LARGEST, NODES, RACKS, TIMES_DEMAND = 200, 64, 8, 1.5
SMALL, SMALL_NODES, SMALL_RACKS, MOST_SMALL = 12, 8, 4, 60
IN_RACK, BETWEEN_RACKS = 50.0, 100.0
AGAINST_KUBERNETES = at_most("network.callgraphs.kubernetes", 45.0, "%")
AGAINST_GREEDY = at_most("network.callgraphs.greedy", 70.0, "%")
ABOVE_OPTIMUM = at_most("network.callgraphs.above_optimum", 5.0, "%")
TIME = at_most("network.callgraphs.large_application", 1.0, "s")
LARGE = 200
MIB = 2**20
NOW = 1.0


@dataclass(frozen=True, slots=True)
class CallGraph:
    """`traffic`: calls between two services, by their places in `services`, the lower one first."""

    name: str
    services: list[str]
    cpu_milli: list[int]
    memory_mib: list[int]
    traffic: dict[tuple[int, int], int]


def read_graphs(path: Path) -> list[CallGraph]:
    """The largest ones, in the order of the file."""
    edges: dict[str, list[dict[str, str]]] = {}
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        for edge in csv.DictReader(lines):
            edges.setdefault(f"{edge['cluster']}-{edge['service']}", []).append(edge)
    found = [_graph(name, each) for name, each in edges.items()]
    largest = sorted(found, key=lambda graph: (-len(graph.services), graph.name))[:LARGEST]
    chosen = {graph.name for graph in largest}
    return [graph for graph in found if graph.name in chosen]


def _graph(name: str, edges: list[dict[str, str]]) -> CallGraph:
    places: dict[str, int] = {}
    received: dict[int, float] = {}
    keeps: set[int] = set()
    traffic: dict[tuple[int, int], int] = {}
    for edge in edges:
        source, target = (places.setdefault(edge[end], len(places)) for end in ("source", "target"))
        received[target] = received.get(target, 0.0) + float(edge["calls_per_request"])
        if edge["rpctype"] in ("mc", "db"):
            keeps.add(target)
        if source != target:
            pair = min(source, target), max(source, target)
            traffic[pair] = traffic.get(pair, 0) + int(edge["calls"])
    cpu = [200 + round(200 * min(received.get(at, 0.0), 9.0)) for at in range(len(places))]
    memory = [2048 if at in keeps else 512 for at in range(len(places))]
    return CallGraph(name, list(places), cpu, memory, traffic)


# --- through the engine --------------------------------------------------------------------------------------


def _engine(graphs: list[CallGraph], profile: str) -> Engine:
    cpu_milli = sum(sum(graph.cpu_milli) for graph in graphs)
    memory_mib = sum(sum(graph.memory_mib) for graph in graphs)
    capacity = {
        "cpu": f"{-(-int(cpu_milli * TIMES_DEMAND) // NODES)}m",
        "memory": -(-int(memory_mib * TIMES_DEMAND) // NODES) * MIB,
        "slots": 10_000,
    }
    engine = Engine(EngineSettings.model_validate({"default_profile": profile}))
    for number in range(NODES):
        labels = {"rack": f"rack-{number * RACKS // NODES}"}
        node = Node.model_validate({"name": f"node-{number:02d}", "capacity": capacity, "labels": labels})
        engine.handle(NodeJoined(node), 0.0)
    engine.take_changes(0.0)
    return engine


def _workloads(graph: CallGraph, *, with_traffic: bool) -> list[Workload]:
    """Traffic is declared by the one of two services that talks to fewer: a workload may list a hundred."""
    degree = [0] * len(graph.services)
    for pair in graph.traffic:
        for at in pair:
            degree[at] += 1
    declared: list[list[dict[str, Any]]] = [[] for _ in graph.services]
    for (one, other), calls in graph.traffic.items():
        by, to = (one, other) if degree[one] <= degree[other] else (other, one)
        declared[by].append({"to": f"s{to}", "mbps": calls})
    return [
        Workload.model_validate(
            {
                "name": f"s{at}",
                "namespace": graph.name.lower().replace("_", "-"),
                "resources": {"cpu": f"{graph.cpu_milli[at]}m", "memory": graph.memory_mib[at] * MIB},
                "traffic": declared[at] if with_traffic else [],
            }
        )
        for at in range(len(graph.services))
    ]


def _decided(engine: Engine, into: dict[int, str]) -> None:
    while engine.busy:
        engine.handle(Tick(500), NOW)
        into |= {one.task.workload: one.node for one in engine.take_changes(NOW).decisions if one.node is not None}


def _place(graphs: list[CallGraph], profile: str, *, together: bool, with_traffic: bool = True) -> float:
    """Calls × distance of everything, placed graph by graph."""
    engine = _engine(graphs, profile)
    cost, id_ = 0.0, 0
    for graph in graphs:
        nodes: dict[int, str] = {}
        first = id_
        for workload in _workloads(graph, with_traffic=with_traffic):
            engine.handle(Submitted(id_, workload), NOW)
            id_ += 1
            if not together:
                _decided(engine, nodes)
        _decided(engine, nodes)
        if len(nodes) != len(graph.services):
            raise RuntimeError(f"{graph.name}: {len(nodes)} of {len(graph.services)} services found a node")
        at = [int(nodes[first + place].removeprefix("node-")) for place in range(len(graph.services))]
        cost += sum(calls * _distance(at[one], at[other]) for (one, other), calls in graph.traffic.items())
    return cost


def _distance(one: int, other: int) -> float:
    if one == other:
        return 0.0
    return IN_RACK if one * RACKS // NODES == other * RACKS // NODES else BETWEEN_RACKS


@benchmark(AGAINST_KUBERNETES, AGAINST_GREEDY)
def against_others(bench: Bench) -> Iterator[tuple[str, Measured]]:
    graphs = read_graphs(bench.data_folder("callgraphs") / "edges.csv.gz")
    calls = sum(sum(graph.traffic.values()) for graph in graphs)
    whole = _place(graphs, "network", together=True)
    greedy = _place(graphs, "network", together=False)
    kubernetes = _place(graphs, "kubernetes", together=False, with_traffic=False)
    bench.say(
        f"{len(graphs)} graphs, {sum(len(graph.services) for graph in graphs)} services; mean distance of a call: "
        f"whole applications {whole / calls:.3g}, greedy {greedy / calls:.3g}, kubernetes {kubernetes / calls:.3g}"
    )
    for bar, other in ((AGAINST_KUBERNETES, kubernetes), (AGAINST_GREEDY, greedy)):
        share = 100.0 * whole / other
        yield bar.name, Measured(share, share, share, f"calls × distance over {len(graphs)} graphs")


@benchmark(TIME)
def large_application(bench: Bench) -> Iterator[tuple[str, Measured]]:
    graphs = read_graphs(bench.data_folder("callgraphs") / "edges.csv.gz")
    largest = max(graphs, key=lambda graph: len(graph.services))
    if len(largest.services) < LARGE:
        raise NotRun(f"the largest graph has {len(largest.services)} services; the bar is about {LARGE}")
    workloads = _workloads(largest, with_traffic=True)

    def one() -> float:
        engine = _engine([largest], "network")
        began = perf_counter()
        for id_, workload in enumerate(workloads):
            engine.handle(Submitted(id_, workload), NOW)
        _decided(engine, {})
        return perf_counter() - began

    yield TIME.name, middle(repeated(5, 1, one), f"applications of {len(workloads)} services")


# --- against the optimum -------------------------------------------------------------------------------------


def _alone(graph: CallGraph) -> ApplicationProblem:
    """By itself on a cluster of its size; a node holds at least the largest service."""
    demand = np.array([graph.cpu_milli, graph.memory_mib], dtype=np.float64).T
    capacity = np.maximum(np.ceil(demand.sum(axis=0) * TIMES_DEMAND / SMALL_NODES), demand.max(axis=0))
    rack = np.arange(SMALL_NODES) * SMALL_RACKS // SMALL_NODES
    distance = np.where(rack[:, None] == rack, IN_RACK, BETWEEN_RACKS)
    np.fill_diagonal(distance, 0.0)
    traffic = np.zeros((len(demand), len(demand)))
    for (one, other), calls in graph.traffic.items():
        traffic[one, other] = traffic[other, one] = calls
    return ApplicationProblem(
        demand,
        np.tile(capacity, (SMALL_NODES, 1)),
        np.ones((len(demand), SMALL_NODES), dtype=np.bool_),
        distance,
        traffic,
        no_pull(len(demand), SMALL_NODES),
    )


def optimum(problem: ApplicationProblem, limit_s: float = 30.0) -> float | None:
    """By CP-SAT; None where no assignment exists, or none is proved best in time."""
    model = cp_model.CpModel()
    at = [[model.new_bool_var("") for _ in range(problem.nodes)] for _ in range(problem.tasks)]
    for one in at:
        model.add_exactly_one(one)
    for node in range(problem.nodes):
        for resource, most in enumerate(problem.capacity[node].tolist()):
            asked = problem.demand[:, resource].tolist()
            model.add(sum(int(amount) * one[node] for amount, one in zip(asked, at, strict=True)) <= int(most))
    terms = []
    for task, other in zip(*np.nonzero(np.triu(problem.traffic)), strict=True):
        far = model.new_int_var(0, int(BETWEEN_RACKS), "")
        for source in range(problem.nodes):
            for target in range(problem.nodes):
                if source != target:
                    both = at[task][source], at[other][target]
                    model.add(far >= int(problem.distance[source, target])).only_enforce_if(*both)
        terms.append(int(problem.traffic[task, other]) * far)
    model.minimize(sum(terms))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = limit_s
    return solver.objective_value if solver.solve(model) == cp_model.OPTIMAL else None


@benchmark(ABOVE_OPTIMUM)
def against_the_optimum(bench: Bench) -> Iterator[tuple[str, Measured]]:
    """The worst of all small graphs counts."""
    graphs = read_graphs(bench.data_folder("callgraphs") / "edges.csv.gz")
    small = [graph for graph in graphs if len(graph.services) <= SMALL]
    above: list[float] = []
    for graph in small[:: max(1, len(small) // MOST_SMALL)][:MOST_SMALL]:
        problem = _alone(graph)
        best = optimum(problem)
        if not best:
            continue
        found = solve(problem)
        if not found.is_complete or not is_valid(problem, found.node_of):
            raise RuntimeError(f"{graph.name}: not placed, though that is possible")
        above.append(100.0 * (found.cost / best - 1.0))
    if not above:
        raise NotRun(f"no graph of at most {SMALL} services has a proved optimum above 0")
    yield ABOVE_OPTIMUM.name, Measured(max(above), min(above), max(above), f"worst of {len(above)} graphs")
