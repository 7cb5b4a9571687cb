"""Kueue's own performance test of topology-aware scheduling, played by the engine on a virtual clock.

`kueue_tas/generator.yaml` says all of it: racks of nodes, cohorts of queues with a quota that may be borrowed, and
workloads that come at intervals, run for a moment and ask for one rack, prefer one, or want to lie evenly in one.
A cohort is a queue of queues that may hold what its queues are guaranteed together; `nominalQuota` is a guarantee, and
with `borrowingLimit` the maximum. Their priorities are ours in the same order. `balanced` is a preferred rack with the
strategy `spread` and slices of the given size.

Use of a queue is what its placed tasks hold of its nominal quota (borrowing may take it above), a mean over the run
from the first submission to the last end. Time to admission is from submission until every task has a node. Kueue's
figures (`rangespec.yaml`) hold the overhead of its control loop, as it ran in real time; ours hold none.
Needs `--data DIR` with `kueue_tas/` in it.
"""

import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Bench, Measured, NotRun, at_least, at_most, benchmark
from benchmarks.measuring import once
from dovetail.backends.simulated.settings import NodeGroup, SimulatedSettings
from dovetail.engine.settings import EngineSettings
from dovetail.model.node import Node
from dovetail.model.resources import CPU, DEFAULT_NODE_SLOTS, Capacity
from dovetail.model.text.quantity import parse_cores
from dovetail.model.workloads.workload import Priority, Workload
from dovetail.queueing.settings import QueueSettings
from dovetail.simulate.ledger import SimulationLedger
from dovetail.simulate.replay import Simulation

REPORT_EVERY_S = 20.0
MS = 1000.0

#: Mean queue usage as Kueue measured it (the comment beside the limit in its rangespec).
USE = at_least("kueue.tas_queue_use", 62.41, "% of nominal quota")
ADMISSION = at_most("kueue.tas_admission", 1.0, "× Kueue's limit, worst class")
REQUIRED = at_most("kueue.tas_large_required_rack", 1.0, "× Kueue's limit")

Arrivals = list[tuple[float, Workload]]


def _read(folder: Path, name: str) -> Any:
    import yaml

    path = folder / name
    if not path.is_file():
        raise NotRun(f"{path} is missing")
    return yaml.safe_load(path.read_text())


def _nodes(topology: Any) -> list[Node]:
    """Domains are numbered within the one above; the last level is the nodes."""
    *outer, inner = topology["levels"]
    found: list[dict[str, str]] = [{}]
    for level in outer:
        found = [
            {**place, level["nodeLabel"]: "-".join([*place.values(), f"{level['name']}{index}"])}
            for place in found
            for index in range(level["count"])
        ]
    capacity = Capacity.model_validate(inner["capacity"] | {"slots": DEFAULT_NODE_SLOTS})
    return [
        Node(name=f"{list(place.values())[-1]}-{inner['name']}{index}", labels=place, capacity=capacity)
        for place in found
        for index in range(inner["count"])
    ]


def _queues(cohorts: Any) -> dict[str, QueueSettings]:
    found = {}
    for cohort in cohorts:
        for number in range(cohort["count"]):
            queues: dict[str, dict[str, Any]] = {}
            for kind in cohort["queuesSets"]:
                nominal, more = parse_cores(kind["nominalQuota"]), parse_cores(kind["borrowingLimit"])
                limits = {"guaranteed": {"cpu": nominal}, "maximum": {"cpu": nominal + more}}
                queues |= {f"{kind['className']}{index}": limits for index in range(kind["count"])}
            together = sum(queue["guaranteed"]["cpu"] for queue in queues.values())
            found[f"{cohort['className']}{number}"] = QueueSettings.model_validate(
                {"queues": queues, "maximum": {"cpu": together}}
            )
    return found


def _arrivals(cohorts: Any) -> Arrivals:
    """Every set of every queue begins at once, and goes on at its own interval."""
    kinds = [kind for cohort in cohorts for kind in cohort["queuesSets"]]
    levels = sorted({one["priority"] for kind in kinds for each in kind["workloadsSets"] for one in each["workloads"]})
    if len(levels) > len(Priority):
        raise NotRun(f"the workloads have {len(levels)} priorities, and we have {len(Priority)}")
    # The middle of ours for the middle of theirs.
    first = (len(Priority) - len(levels)) // 2
    ranks = dict(zip(reversed(levels), list(Priority)[first:], strict=False))
    found: Arrivals = []
    for cohort in cohorts:
        for number in range(cohort["count"]):
            for kind in cohort["queuesSets"]:
                for index in range(kind["count"]):
                    queue = f"{cohort['className']}{number}/{kind['className']}{index}"
                    found += _of_queue(kind["workloadsSets"], queue, ranks)
    return sorted(found, key=lambda arrival: arrival[0])


def _of_queue(sets: Any, queue: str, ranks: dict[int, Priority]) -> Iterator[tuple[float, Workload]]:
    for each in sets:
        for one in each["workloads"]:
            fields = {
                "namespace": queue.replace("/", "-"),
                "queue": queue,
                "labels": {"class": one["className"]},
                "priority": ranks[one["priority"]],
                "replicas": one["podCount"],
                "gang": {"min": one["podCount"]},
                "resources": {"cpu": one["request"]},
                "topology": _layout(one),
                "run": {"simulate": {"run_time": one["runtimeMs"] / MS}},
            }
            first = Workload.model_validate({"name": "first", **fields})
            for index in range(each["count"]):
                name = f"{one['className']}-{index}"
                yield (index + 1) * each["creationIntervalMs"] / MS, first.model_copy(update={"name": name})


def _layout(one: Any) -> dict[str, Any]:
    level, how = one["tasLevel"], one["tasConstraint"]
    if how != "balanced":
        return {how: level}
    size = one["sliceSize"]
    slices = [{"size": size, "within": level}] if size > 1 else []
    return {"preferred": level, "strategy": "spread", "slices": slices}


def _class_of(name: str) -> str:
    return name.rpartition("-")[0]


@benchmark(USE, ADMISSION, REQUIRED)
def topology_aware(bench: Bench) -> Iterator[tuple[str, Measured]]:
    folder = bench.data_folder("kueue_tas")
    wanted, ranges = _read(folder, "generator.yaml"), _read(folder, "rangespec.yaml")
    nodes, arrivals = _nodes(wanted["topology"]), _arrivals(wanted["cohorts"])
    queues = _queues(wanted["cohorts"])
    bench.say(
        f"{len(nodes)} nodes, {len(arrivals):,} workloads in {sum(len(c.queues) for c in queues.values())} queues"
    )
    said = time.monotonic()

    def progress(now: float, ledger: SimulationLedger) -> None:
        nonlocal said
        if time.monotonic() - said > REPORT_EVERY_S:
            said = time.monotonic()
            ended = len(ledger.lives) - ledger.live
            bench.say(f"second {now:.1f}: {len(ledger.lives):,} submitted, {ended:,} ended")

    world = SimulatedSettings(groups=[NodeGroup(count=1)])
    play = Simulation(EngineSettings(queues=queues), world, arrivals, 0, nodes=nodes)
    outcome = play.run(progress)
    waits: dict[str, list[float]] = defaultdict(list)
    for life in outcome.lives:
        if life.wait_s is None or life.finished_at is None:
            raise ValueError(f"{life.namespace}/{life.name} was never played: {life.reason} {life.message}")
        waits[_class_of(life.name)].append(life.wait_s)
    attempts, tasks = sum(life.attempts for life in outcome.lives), sum(life.replicas for life in outcome.lives)
    bench.say(f"{outcome.ended_at_s:.1f} s; {attempts - tasks:,} of {tasks:,} tasks started again after giving way")
    limits = ranges["wlClassesMaxAvgTimeToAdmissionMs"]
    ratios = {}
    for name in sorted(waits):
        mean_s, limit_s = float(np.mean(waits[name])), limits[name] / MS
        ratios[name] = mean_s / limit_s
        middle, high = np.quantile(waits[name], (0.5, 0.99))
        words = f"mean {mean_s:.1f} s, p50 {middle:.1f}, p99 {high:.1f}"
        bench.say(f"{name}: {len(waits[name]):,} admitted after {words}; Kueue's limit {limit_s:.0f} s")
    use = _use(play.ledger, queues, arrivals[0][0], outcome.ended_at_s)
    how = f"{len(arrivals):,} workloads, {len(nodes)} nodes, {outcome.ended_at_s:.0f} s"
    yield USE.name, Measured(float(np.mean(use)), min(use), max(use), how)
    worst = max(ratios, key=lambda name: ratios[name])
    yield ADMISSION.name, once(ratios[worst], f"{worst}; {how}")
    yield REQUIRED.name, once(ratios["large-required-rack"], how)


def _use(ledger: SimulationLedger, queues: dict[str, QueueSettings], begin: float, end: float) -> list[float]:
    """By queue, what it held on average, in % of its nominal quota."""
    found = []
    for cohort, settings in queues.items():
        for name, queue in settings.queues.items():
            held = ledger.used[f"{cohort}-{name}"][CPU]
            found.append(100.0 * held / ((end - begin) * queue.guaranteed.amounts()[CPU]))
    return found
