"""How long it takes to say why work cannot be placed, and what would help, on 5,000 nodes that hold 20,000 tasks.

The workloads are drawn so that they do not fit: more than nodes have free, selectors that leave few nodes, expressions
that few satisfy, spread and company among them; single tasks, several replicas and gangs. Every suggestion is tried by
placing the whole workload, which is part of what is measured; gathering for the first time what every placed task has
at stake, which the engine keeps up to date from then on, is not.
"""

import random
from collections.abc import Iterator
from time import perf_counter
from typing import Any

from benchmarks import clusters
from benchmarks.harness import Bar, Bench, Better, Measured, at_most, benchmark
from benchmarks.measuring import middle, quantile, quiet
from dovetail.constraints.syntax.parser import warm_up
from dovetail.engine.engine import Engine
from dovetail.engine.pieces import whole
from dovetail.engine.questions.questions import Questions
from dovetail.engine.settings import EngineSettings
from dovetail.model.event import NodeCordoned, NodeJoined, Submitted, Tick
from dovetail.model.workloads.workload import Workload

MEDIAN = at_most("explain.suggestions_median_ms", 100.0, "ms")
P99 = at_most("explain.suggestions_p99_ms", 100.0, "ms")
HELPED = Bar("explain.suggestions_share", "of explanations with one", Better.HIGHER, None)

NODES, TASKS, QUESTIONS, ROUNDS = 5_000, 20_000, 50, 3
PRIORITIES = ("high", "medium", "low", "batch")


def _busy() -> Engine:
    """A fleet with work of many kinds on it, some of it with an end in sight, and some nodes cordoned."""
    engine, chance = Engine(EngineSettings()), random.Random(5)
    for node in clusters.nodes(NODES):
        engine.handle(NodeJoined(node), 0.0)
    workload = placed = 0
    while placed < TASKS:
        workload += 1
        replicas = chance.choice((1, 5, 20, 100))
        placed += replicas
        spec: dict[str, Any] = {
            "name": f"old-{workload}",
            "replicas": replicas,
            "resources": {"cpu": chance.choice((2, 4, 8)), "memory": f"{chance.choice((4, 16, 32))}GiB"},
            "tolerations": [{"operator": "Exists"}],
            "priority": chance.choice(PRIORITIES),
            "labels": {"app": chance.choice(("db", "web", "batch"))},
        }
        if chance.random() < 0.5:
            spec["deadline"] = {"run_for": f"{chance.randint(10, 600)}m"}
        engine.handle(Submitted(workload, Workload.model_validate(spec)), 0.0)
    while engine.busy:
        engine.handle(Tick(10_000), 0.0)
    engine.take_changes(0.0)
    for row in chance.sample(range(NODES), NODES // 50):
        engine.handle(NodeCordoned(engine._state.cluster.names[row], True, "being repaired"), 0.0)
    return engine


def _unplaceable(chance: random.Random, number: int) -> Workload:
    """Perhaps: the first thing that is asked is whether it fits after all."""
    found: dict[str, Any] = {
        "name": f"new-{number}",
        "priority": chance.choice(PRIORITIES),
        "replicas": chance.choice((1, 1, 1, 8, 200)),
        "resources": {
            "cpu": chance.choice((8, 32, 96, 120)),
            "memory": f"{chance.choice((16, 128, 600))}GiB",
            "gpu": chance.choice((0, 0, 4, 8)),
        },
    }
    parts: tuple[dict[str, Any], ...] = (
        {"node_selector": {"zone": chance.choice(clusters.ZONES), "disk": "nvme", "pool": "small"}},
        {"node_selector": {"rack": f"rack-{chance.randrange(100)}"}},
        {"node_affinity": {"required": [{"match": [{"key": "arch", "operator": "In", "values": ["arm64", "riscv"]}]}]}},
        {"constraints": [{"require": 'node.labels.zone == "north" && node.free.memory > GiB(400) && node.load < 0.4'}]},
        {"affinity": [{"apart": {"labels": {"app": "db"}}, "within": "rack"}]},
        {"spread": [{"over": "zone", "max_skew": 1}]},
        {"tolerations": [{"key": "dedicated", "value": "gpu"}]},
    )
    for part in chance.sample(parts, chance.randint(1, 3)):
        found |= part
    if found["replicas"] > 1 and chance.random() < 0.5:
        found["gang"] = {"min": min(found["replicas"], 8)}
    return Workload.model_validate(found)


@benchmark(MEDIAN, P99, HELPED)
def suggestions(bench: Bench) -> Iterator[tuple[str, Measured]]:
    engine = _busy()
    questions, chance = Questions(engine), random.Random(11)
    bench.say(f"{NODES:,} nodes hold {len(engine._state.cluster.placements.by_task):,} tasks")
    medians, tails, shares = [], [], []
    # What every placed task has at stake is gathered once, and the parser of expressions loaded.
    whole(questions.plans.impasse(_unplaceable(chance, 0), now=60.0))
    warm_up()
    with quiet():
        for _ in range(ROUNDS):
            times_s: list[float] = []
            helped = number = 0
            while len(times_s) < QUESTIONS:
                number += 1
                spec = _unplaceable(chance, number)
                if whole(questions.plans.plan(spec, 1000))[-1].node is not None:
                    continue
                start = perf_counter()
                found = whole(questions.plans.impasse(spec, now=60.0))
                times_s.append(perf_counter() - start)
                helped += bool(found.suggestions)
            medians.append(quantile(times_s, 0.5) * 1000)
            tails.append(quantile(times_s, 0.99) * 1000)
            shares.append(helped / QUESTIONS)
            bench.say(f"median {medians[-1]:.1f} ms, p99 {tails[-1]:.1f} ms, {shares[-1]:.0%} with a suggestion")
    yield MEDIAN.name, middle(medians, f"medians of {QUESTIONS} explanations")
    yield P99.name, middle(tails, f"p99s of {QUESTIONS} explanations")
    yield HELPED.name, middle(shares, "shares")
