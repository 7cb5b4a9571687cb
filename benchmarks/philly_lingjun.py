"""Philly's jobs on Lingjun's fabric: what knowing the network is worth to jobs that run on several nodes.

The same engine plays the same jobs twice on a virtual clock: with the fabric described and gangs that prefer one access
switch (`topology: {preferred: ASW}`, default strategy, profile `gpu_topology` for what has no gang), and blind: no
topology, no such field, profile `balanced`. Each multi-node job is then timed by the communication model: an all-reduce
of 1 GiB between its nodes in order of rank.

Philly asks for a twentieth of what Lingjun has, so its jobs are submitted `FASTER` times as fast, with their run times
as they were. Counted are the jobs of the longest stretch in which they would, if nobody waited, hold at least
`BUSY` of all GPUs; what came before has filled the cluster by then. Utilisation is that of the same stretch.
The trace says nothing of speeds: nodes have the usual link, and across switches a node can count on what 4:1
oversubscription a tier leaves it while everybody talks. How much is won depends on that. The two runs differ in the
profile of single-node jobs as well, so that use and waits are of both together.
Needs `--data DIR` with `philly/` and `lingjun/` in it.
"""

import csv
import gzip
import io
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.harness import Bar, Bench, Better, Measured, NotRun, at_least, at_most, benchmark
from benchmarks.measuring import once
from dovetail.backends.simulated.settings import NodeGroup, SimulatedSettings
from dovetail.cluster.state import Cluster
from dovetail.engine.settings import EngineSettings
from dovetail.model.command import Bind, Command
from dovetail.model.event import Event, TopologySet
from dovetail.model.node import Node
from dovetail.model.resources import Capacity
from dovetail.model.topology import Topology, TopologyLevel, default_link
from dovetail.model.topology_readers.link_table import read_table
from dovetail.model.workload import Workload
from dovetail.placement.communication import Communication, Estimate
from dovetail.simulate.ledger import Ledger
from dovetail.simulate.replay import Simulation

GPUS_A_NODE = 8
FASTER = 20
BUSY = 0.8
POD, ACCESS = "PSW", "ASW"
OVERSUBSCRIPTION = 4
REPORT_EVERY_S = 20.0

CUT = at_least("philly.communication_cut", 0.30, "share of the mean all-reduce time")
USE = at_least("philly.communication_utilisation", 0.0, "points of GPU use above the blind run")
WAIT = at_most("philly.communication_wait", 0.0, "s of mean wait above the blind run")
ALL_TO_ALL = Bar("philly.communication_all_to_all_cut", "share of the mean all-to-all time", Better.HIGHER, None)
TIMES_BEST = Bar("philly.communication_times_best", "× the best possible, mean", Better.LOWER, None)


class PhillyJob(NamedTuple):
    submit_s: float
    run_s: float
    gpus: int

    @property
    def nodes(self) -> int:
        return -(-self.gpus // GPUS_A_NODE)


@dataclass(slots=True)
class Played:
    """One run: what became of the jobs of the window."""

    estimates: dict[int, Estimate]  # by job, of those on several nodes
    waits_s: list[float]
    multi_waits_s: list[float]
    utilisation: float


@cache
def _jobs(path: Path) -> tuple[PhillyJob, ...]:
    rows = list(csv.DictReader(io.StringIO(gzip.decompress(path.read_bytes()).decode())))
    when = [datetime.fromisoformat(row["timestamp"]).replace(tzinfo=UTC).timestamp() for row in rows]
    first = min(when)
    jobs = [
        PhillyJob((at - first) / FASTER, float(row["duration"]), int(row["num_gpus"]))
        for at, row in zip(when, rows, strict=True)
    ]
    return tuple(sorted(jobs))


def busy_window(jobs: Sequence[PhillyJob], gpus: int) -> tuple[float, float]:
    """The longest stretch, between two submissions, in which jobs that never wait would hold `BUSY` of the GPUs."""
    starts = np.array([job.submit_s for job in jobs])
    ends = starts + np.array([job.run_s for job in jobs])
    wanted = np.array([job.gpus for job in jobs])
    order = np.argsort(ends)
    before = np.concatenate(([0], np.cumsum(wanted[order])))
    held = np.cumsum(wanted) - before[np.searchsorted(ends[order], starts, side="right")]
    busy = np.concatenate(([False], held >= BUSY * gpus, [False]))
    edges = np.flatnonzero(busy[1:] != busy[:-1]).reshape(-1, 2)
    if not len(edges):
        raise NotRun(f"the jobs never ask for {BUSY:.0%} of {gpus} GPUs at once")
    longest = max(edges.tolist(), key=lambda edge: float(starts[edge[1] - 1] - starts[edge[0]]))
    return float(starts[longest[0]]), float(starts[longest[1] - 1])


def _fabric(bench: Bench) -> Topology:
    path = bench.data_folder("lingjun") / "topo.csv"
    if not path.is_file():
        raise NotRun(f"{path} is missing")
    read = read_table(path.read_text(), path.name)
    share = default_link("host").mbps
    levels: list[TopologyLevel] = []
    for level in reversed([level for level in read.levels if level.name in (POD, ACCESS)]):
        share //= OVERSUBSCRIPTION
        levels.insert(0, level.model_copy(update={"bandwidth": share}))
    nodes = {f"h{host}": {name: place[name] for name in (POD, ACCESS)} for host, place in read.nodes.items()}
    return Topology.model_validate({"levels": levels, "nodes": nodes})


def _workload(index: int, job: PhillyJob, *, knows: bool) -> Workload:
    each = -(-job.gpus // job.nodes)
    fields: dict[str, object] = {
        "name": f"j{index}",
        "resources": {"gpu": each},
        "run": {"simulate": {"run_time": max(job.run_s, 1.0)}},
    }
    if job.nodes > 1:
        fields |= {"replicas": job.nodes, "gang": {"min": job.nodes}}
        if knows:
            fields["topology"] = {"preferred": ACCESS}
    elif knows:
        fields["profile"] = "gpu_topology"
    return Workload.model_validate(fields)


def _play(
    bench: Bench, jobs: Sequence[PhillyJob], fabric: Topology, window: tuple[float, float], *, knows: bool
) -> Played:
    said = time.monotonic()
    capacity = Capacity(cpu=64, memory=2**40, gpu=GPUS_A_NODE)
    nodes = [Node(name=host, capacity=capacity) for host in fabric.nodes]
    placed: dict[int, dict[int, str]] = {}

    def watch(_: float, __: Event, commands: list[Command]) -> None:
        for command in commands:
            if isinstance(command, Bind):
                placed.setdefault(command.task.workload, {})[command.task.replica] = command.node

    def progress(now: float, ledger: Ledger) -> None:
        nonlocal said
        if time.monotonic() - said > REPORT_EVERY_S:
            said = time.monotonic()
            bench.say(f"{'with' if knows else 'without'} topology: {len(ledger.lives):,} jobs, day {now / 86400:.1f}")

    world = SimulatedSettings(groups=[NodeGroup(count=1)])
    arrivals = [(job.submit_s, _workload(index, job, knows=knows)) for index, job in enumerate(jobs)]
    play = Simulation(EngineSettings(), world, arrivals, 0, nodes=nodes, watch=watch)
    if knows:
        play.engine.handle(TopologySet(fabric), 0.0)
    play.run(progress)
    begin, end = window
    multi, waits, multi_waits = {}, [], []
    scene = _scene(nodes, fabric)
    held = 0.0
    for life in play.ledger.lives.values():
        index = int(life.name[1:])
        placed_at, finished_at = life.all_placed_at, life.finished_at
        if placed_at is None or finished_at is None:
            raise ValueError(f"{life.name} was never played: {life.reason} {life.message}")
        overlap = min(finished_at, end) - max(placed_at, begin)
        held += max(0.0, overlap) * jobs[index].gpus
        if begin <= life.submitted_at <= end:
            waits.append(life.wait_s or 0.0)
            if life.replicas > 1:
                multi_waits.append(life.wait_s or 0.0)
                rows = [scene.rows[node] for _, node in sorted(placed[life.id].items())]
                found = Communication(scene).estimate(rows)
                assert found is not None
                multi[index] = found
    return Played(multi, waits, multi_waits, held / ((end - begin) * GPUS_A_NODE * len(nodes)))


def _scene(nodes: Sequence[Node], fabric: Topology) -> Cluster:
    """The fabric alone, for the estimates of both runs."""
    cluster = Cluster()
    cluster.set_topology(fabric)
    for node in nodes:
        cluster.join(node)
    return cluster


def _quantiles(values: Sequence[float]) -> str:
    low, middle, high = np.quantile(np.array(values), (0.1, 0.5, 0.9)).tolist()
    return f"mean {np.mean(values):.4g}, p10 {low:.4g}, p50 {middle:.4g}, p90 {high:.4g}"


def _tell(bench: Bench, title: str, run: Played) -> None:
    bench.say(f"{title}: utilisation {run.utilisation:.2%}; wait in s of all: {_quantiles(run.waits_s)}")
    bench.say(f"{title}: wait in s of multi-node jobs: {_quantiles(run.multi_waits_s)}")
    for size in (None, 2, 3, 4, 8, 16):
        found = [one.all_reduce for one in run.estimates.values() if size is None or one.ranks == size]
        if found:
            words = f"all {len(found)}" if size is None else f"{len(found)} of {size} nodes"
            bench.say(f"{title}: all-reduce of 1 GiB in s, {words}: {_quantiles([one.seconds for one in found])}")


def _mean_s(run: Played, kind: str) -> float:
    return float(np.mean([getattr(one, kind).seconds for one in run.estimates.values()]))


@benchmark(CUT, USE, WAIT, ALL_TO_ALL, TIMES_BEST)
def communication(bench: Bench) -> Iterator[tuple[str, Measured]]:
    fabric = _fabric(bench)
    path = bench.data_folder("philly") / "philly.csv.gz"
    if not path.is_file():
        raise NotRun(f"{path} is missing")
    jobs = _jobs(path)
    window = busy_window(jobs, len(fabric.nodes) * GPUS_A_NODE)
    counted = sum(window[0] <= job.submit_s <= window[1] for job in jobs)
    days = [second * FASTER / 86400 for second in window]
    bench.say(f"{len(jobs):,} jobs; counted: {counted:,} of days {days[0]:.1f} to {days[1]:.1f} of the trace")
    ours = _play(bench, jobs, fabric, window, knows=True)
    _tell(bench, "with topology", ours)
    blind = _play(bench, jobs, fabric, window, knows=False)
    _tell(bench, "without", blind)
    how = f"{len(ours.estimates)} multi-node jobs of {counted:,}, arrivals {FASTER} × as fast"
    for bar, kind in ((CUT, "all_reduce"), (ALL_TO_ALL, "all_to_all")):
        mine, theirs = (
            np.mean([getattr(one, kind).seconds for one in run.estimates.values()]) for run in (ours, blind)
        )
        yield bar.name, once(float(1.0 - mine / theirs), how)
    yield USE.name, once(100.0 * (ours.utilisation - blind.utilisation), f"{ours.utilisation:.2%} of GPUs held")
    means = [float(np.mean(run.waits_s)) for run in (ours, blind)]
    yield WAIT.name, once(means[0] - means[1], f"{means[0]:.0f} s against {means[1]:.0f} s")
    yield TIMES_BEST.name, once(float(np.mean([one.all_reduce.times_best for one in ours.estimates.values()])), how)
