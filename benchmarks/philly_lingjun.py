"""Philly's jobs on Lingjun's fabric: what knowing the network is worth to jobs that run on several nodes.

The same engine plays the same jobs with the same profile twice on a virtual clock. It *knows* where the fabric is
described and gangs prefer one access switch (`topology: {preferred: ASW}`, default strategy); it is *blind* where no
topology is set and no such field is written, so that nodes have neither levels nor labels. The profile of all jobs is
`gpu_packing`: small work fills up nodes, and, if it knows, domains. Each job on several nodes is then timed by the
communication model: an all-reduce of 1 GiB between its nodes in order of rank.

Three stretches of the trace are played, each by itself. A play begins with the jobs that would be running by then, for
the rest of their time; three days later the counting begins. Philly asks for a small part of what Lingjun has, so
jobs are submitted faster, with their run times as they were: so much faster that, if nobody waited, they would hold the
stretch's `load` of all GPUs on average while it is counted. Counted are the jobs submitted then, which are played to
their end, and the GPUs held then. Figures are over all stretches, and their spread is that of the stretches.
Which of two equal nodes comes first follows from the order of the hosts in the file. In another order the waits of a
busy stretch come out some percent longer or shorter if it knows: differences of use and wait that are as small as that
say that the two are equal, and not which is better.
The trace says nothing of speeds: nodes have the usual link, and across switches a node can count on what 4:1
oversubscription a tier leaves it while everybody talks. How much is won depends on that.
Needs `--data DIR` with `philly/` and `lingjun/` in it.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.harness import Bar, Bench, Better, Measured, NotRun, at_least, at_most, benchmark
from benchmarks.measuring import once
from benchmarks.philly_trace import GPUS_A_NODE, PhillyJob, Scene, Stretch, read_trace, scene_of
from dovetail.backends.simulated.settings import NodeGroup, SimulatedSettings
from dovetail.cluster.state import Cluster
from dovetail.engine.settings import EngineSettings
from dovetail.model.command import Bind, Command
from dovetail.model.event import Event
from dovetail.model.network.topology import Topology, TopologyLevel, default_link
from dovetail.model.network.topology_readers.link_table import read_table
from dovetail.model.node import Node
from dovetail.model.resources import Capacity
from dovetail.model.workloads.workload import Workload
from dovetail.placement.network_cost.communication import CommunicationModel, Estimate
from dovetail.simulate.ledger import SimulationLedger
from dovetail.simulate.replay import Simulation

PROFILE = "gpu_packing"
POD, ACCESS = "PSW", "ASW"
OVERSUBSCRIPTION = 4
REPORT_EVERY_S = 20.0


STRETCHES = (Stretch(48, 64, 0.90), Stretch(64, 80, 0.95), Stretch(80, 96, 0.90))

CUT = at_least("philly.communication_cut", 0.30, "share of the mean all-reduce time")
USE = at_least("philly.communication_utilisation", 0.0, "points of GPU use above the blind run")
WAIT = at_most("philly.communication_wait", 0.0, "s of mean wait above the blind run")
ALL_TO_ALL = Bar("philly.communication_all_to_all_cut", "share of the mean all-to-all time", Better.HIGHER, None)
MIDDLE, HIGH = (
    Bar(f"philly.communication_all_reduce_p{share}", "s for 1 GiB", Better.LOWER, None) for share in (50, 90)
)
TIMES_BEST = Bar("philly.communication_times_best", "× the best possible, mean", Better.LOWER, None)


@dataclass(slots=True)
class Played:
    """One run: what became of the jobs that count."""

    estimates: dict[int, Estimate]  # by job, of those on several nodes
    waits_s: list[float]
    multi_waits_s: list[float]
    utilisation: float

    def seconds(self, kind: str = "all_reduce") -> list[float]:
        return [getattr(one, kind).seconds for one in self.estimates.values()]


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
        "profile": PROFILE,
        "resources": {"gpu": each},
        "run": {"simulate": {"run_time": max(job.run_s, 1.0)}},
    }
    if job.nodes > 1:
        fields |= {"replicas": job.nodes, "gang": {"min": job.nodes}}
        if knows:
            fields["topology"] = {"preferred": ACCESS}
    return Workload.model_validate(fields)


def _play(bench: Bench, scene: Scene, fabric: Topology, *, knows: bool) -> Played:
    said = time.monotonic()
    title = f"{scene.title}, {'knowing' if knows else 'blind'}"
    capacity = Capacity(cpu=64, memory=2**40, gpu=GPUS_A_NODE)
    nodes = [Node(name=host, capacity=capacity) for host in fabric.nodes]
    placed: dict[int, dict[int, str]] = {}

    def watch(_: float, __: Event, commands: list[Command]) -> None:
        for command in commands:
            if isinstance(command, Bind):
                placed.setdefault(command.task.workload, {})[command.task.replica] = command.node

    def progress(now: float, ledger: SimulationLedger) -> None:
        nonlocal said
        if time.monotonic() - said > REPORT_EVERY_S:
            said = time.monotonic()
            bench.say(f"{title}: {len(ledger.lives):,} of {len(scene.jobs):,} jobs submitted by hour {now / 3600:.1f}")

    world = SimulatedSettings(groups=[NodeGroup(count=1)])
    arrivals = [(job.submit_s, _workload(index, job, knows=knows)) for index, job in enumerate(scene.jobs)]
    topology = fabric if knows else None
    play = Simulation(EngineSettings(), world, arrivals, 0, nodes=nodes, watch=watch, topology=topology)
    play.run(progress)
    found = _judged(scene, play.ledger, placed, _network(nodes, fabric))
    _tell(bench, title, found)
    return found


def _judged(scene: Scene, ledger: SimulationLedger, placed: dict[int, dict[int, str]], network: Cluster) -> Played:
    begin, end = scene.begin, scene.end
    found = Played({}, [], [], 0.0)
    held = 0.0
    for life in ledger.lives.values():
        index = int(life.name[1:])
        placed_at, finished_at = life.all_placed_at, life.finished_at
        if placed_at is None or finished_at is None:
            raise ValueError(f"{life.name} was never played: {life.reason} {life.message}")
        held += max(0.0, min(finished_at, end) - max(placed_at, begin)) * scene.jobs[index].gpus
        if begin <= life.submitted_at <= end:
            found.waits_s.append(life.wait_s or 0.0)
            if life.replicas > 1:
                found.multi_waits_s.append(life.wait_s or 0.0)
                rows = [network.rows[node] for _, node in sorted(placed[life.id].items())]
                estimate = CommunicationModel(network).estimate(rows)
                assert estimate is not None, "every node is in the network"
                found.estimates[index] = estimate
    found.utilisation = held / ((end - begin) * GPUS_A_NODE * len(network.rows))
    return found


def _network(nodes: Sequence[Node], fabric: Topology) -> Cluster:
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
    bench.say(f"{title}: utilisation {run.utilisation:.3%}; wait in s of all: {_quantiles(run.waits_s)}")
    bench.say(f"{title}: wait in s of multi-node jobs: {_quantiles(run.multi_waits_s)}")
    for size in (None, 2, 3, 4, 8, 16):
        found = [one.all_reduce.seconds for one in run.estimates.values() if size is None or one.ranks == size]
        if found:
            words = f"all {len(found)}" if size is None else f"{len(found)} of {size} nodes"
            bench.say(f"{title}: all-reduce of 1 GiB in s, {words}: {_quantiles(found)}")


@benchmark(CUT, USE, WAIT, ALL_TO_ALL, MIDDLE, HIGH, TIMES_BEST)
def communication(bench: Bench) -> Iterator[tuple[str, Measured]]:
    fabric = _fabric(bench)
    path = bench.data_folder("philly") / "philly.csv.gz"
    if not path.is_file():
        raise NotRun(f"{path} is missing")
    trace = read_trace(path)
    ours: list[Played] = []
    blind: list[Played] = []
    for stretch in STRETCHES:
        scene = scene_of(trace, stretch, len(fabric.nodes) * GPUS_A_NODE)
        bench.say(f"{scene.title} of all GPUs: {len(scene.jobs):,} jobs, arrivals {scene.faster:.1f} × as fast")
        ours.append(_play(bench, scene, fabric, knows=True))
        blind.append(_play(bench, scene, fabric, knows=False))
    count = sum(len(run.estimates) for run in ours)
    how = f"{len(STRETCHES)} stretches, {count} multi-node jobs of {sum(len(run.waits_s) for run in ours):,}"
    for bar, kind in ((CUT, "all_reduce"), (ALL_TO_ALL, "all_to_all")):
        cuts = [_cut([one], [other], kind) for one, other in zip(ours, blind, strict=True)]
        yield bar.name, Measured(_cut(ours, blind, kind), min(cuts), max(cuts), how)
    points = [100.0 * (one.utilisation - other.utilisation) for one, other in zip(ours, blind, strict=True)]
    held = "; ".join(
        f"{one.utilisation:.3%}, {other.utilisation:.3%} blind" for one, other in zip(ours, blind, strict=True)
    )
    yield USE.name, Measured(float(np.mean(points)), min(points), max(points), held)
    longer_s = [_mean_wait_s([one]) - _mean_wait_s([other]) for one, other in zip(ours, blind, strict=True)]
    waited = "; ".join(
        f"{_mean_wait_s([one]):.1f}, {_mean_wait_s([other]):.1f} blind" for one, other in zip(ours, blind, strict=True)
    )
    yield WAIT.name, Measured(_mean_wait_s(ours) - _mean_wait_s(blind), min(longer_s), max(longer_s), waited)
    for bar, share in ((MIDDLE, 0.5), (HIGH, 0.9)):
        knowing_s, blind_s = (
            float(np.quantile(np.concatenate([run.seconds() for run in runs]), share)) for runs in (ours, blind)
        )
        yield bar.name, once(knowing_s, f"{blind_s:.4g} s blind; {how}")
    best = [one.all_reduce.times_best for run in ours for one in run.estimates.values()]
    yield TIMES_BEST.name, once(float(np.mean(best)), how)


def _cut(ours: Sequence[Played], blind: Sequence[Played], kind: str) -> float:
    """By which share the mean over all jobs of these runs is lower."""
    mine, theirs = (float(np.mean(np.concatenate([run.seconds(kind) for run in runs]))) for runs in (ours, blind))
    return 1.0 - mine / theirs


def _mean_wait_s(runs: Sequence[Played]) -> float:
    return float(np.mean(np.concatenate([run.waits_s for run in runs])))
