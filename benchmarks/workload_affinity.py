"""Decisions a second for work with rules about other work: 5,000 nodes in 50 zones that hold 20,000 labelled tasks.

Each variant then submits 100 workloads of 20 tasks with one rule each: apart from one another on a host, apart from
another application in a zone, near to another application in a zone, spread evenly over the zones. Everything goes
through `Engine.handle`, explanations handed over included. Kubernetes holds its own scheduler, on as many nodes, to
180 pods a second with required anti-affinity and 70 with required affinity.
"""

from collections.abc import Iterator
from time import perf_counter
from typing import Any

from benchmarks.engine.deciding import NOW, SLICE, check_placed, engine_with
from benchmarks.harness import Bench, Measured, at_least, benchmark
from benchmarks.measuring import fastest, quiet, repeated
from dovetail.engine.engine import Engine
from dovetail.model.event import Submitted, Tick
from dovetail.model.node import Node
from dovetail.model.record import Decision
from dovetail.model.resources import Capacity
from dovetail.model.workloads.workload import Workload

NODES, ZONES = 5_000, 50
PLACED_WORKLOADS, NEW_WORKLOADS, REPLICAS = 1_000, 100, 20
GIB = 2**30
LEAST = 1_500
APART_ON_HOST = at_least("company.anti_affinity", LEAST, "decisions/s")
APART_IN_ZONE = at_least("company.anti_affinity_in_zone", LEAST, "decisions/s")
NEAR_IN_ZONE = at_least("company.required_affinity", LEAST, "decisions/s")
SPREAD = at_least("company.spread", LEAST, "decisions/s")
ROUNDS, WARM_UPS = 3, 1


def _nodes() -> Iterator[Node]:
    capacity = Capacity(cpu=32, memory=128 * GIB)
    for number in range(NODES):
        yield Node(name=f"node-{number:05d}", capacity=capacity, labels={"zone": f"zone-{number % ZONES:02d}"})


def _workload(name: str, app: str, **more: Any) -> Workload:
    asked = {"cpu": "500m", "memory": "1GiB"}
    fields = {"name": name, "replicas": REPLICAS, "resources": asked, "labels": {"app": app}} | more
    return Workload.model_validate(fields)


def _labelled() -> Iterator[Workload]:
    for number in range(PLACED_WORKLOADS):
        yield _workload(f"running-{number}", f"app-{number}")


def _new(rule: str) -> Iterator[Workload]:
    for number in range(NEW_WORKLOADS):
        own, other = {"labels": {"app": f"new-{number}"}}, {"labels": {"app": f"app-{number}"}}
        rules: dict[str, dict[str, Any]] = {
            APART_ON_HOST.name: {"affinity": [{"apart": own, "within": "host"}]},
            APART_IN_ZONE.name: {"affinity": [{"apart": other, "within": "zone"}]},
            NEAR_IN_ZONE.name: {"affinity": [{"near": other, "within": "zone"}]},
            SPREAD.name: {"spread": [{"over": "zone", "max_skew": 1}]},
        }
        yield _workload(f"new-{number}", f"new-{number}", **rules[rule])


def _decide(engine: Engine, workloads: Iterator[Workload], first_id: int) -> float:
    """Decisions a second, from handing in the first to handing over the last; submitting is not part of it."""
    submitted = [Submitted(id_, workload) for id_, workload in enumerate(workloads, start=first_id)]
    for event in submitted:
        engine.handle(event, NOW)
    wanted = sum(event.spec.replicas for event in submitted)
    decisions: list[Decision] = []
    began = perf_counter()
    while engine.busy:
        engine.handle(Tick(SLICE), NOW)
        decisions += engine.take_changes(NOW).decisions
    elapsed_s = perf_counter() - began
    check_placed(decisions, wanted)
    return wanted / elapsed_s


def _rounds(bench: Bench, rule: str) -> list[float]:
    def one() -> float:
        engine = engine_with(_nodes())
        _decide(engine, _labelled(), 1)
        with quiet():
            rate = _decide(engine, _new(rule), PLACED_WORKLOADS + 1)
        bench.say(f"{rule}: {rate:,.0f} decisions/s")
        return rate

    return repeated(ROUNDS, WARM_UPS, one)


@benchmark(APART_ON_HOST, APART_IN_ZONE, NEAR_IN_ZONE, SPREAD)
def rules_about_other_work(bench: Bench) -> Iterator[tuple[str, Measured]]:
    for bar in (APART_ON_HOST, APART_IN_ZONE, NEAR_IN_ZONE, SPREAD):
        yield bar.name, fastest(_rounds(bench, bar.name))
