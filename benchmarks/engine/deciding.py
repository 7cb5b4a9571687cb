"""An engine with the profile `balanced` on a synthetic cluster, and the clock around its decisions.

Everything goes through `Engine.handle`, as in the control loop: workloads come in with Submitted, each Tick decides,
and `take_changes` hands over what changed with all explanations. A decision that places nothing is an error here:
refusing is another, cheaper question.
"""

from collections.abc import Iterable
from time import perf_counter

from dovetail.engine.engine import Engine
from dovetail.engine.settings import EngineSettings
from dovetail.model.event import NodeJoined, Submitted, Tick
from dovetail.model.node import Node
from dovetail.model.record import Decision
from dovetail.model.workloads.workload import Workload

SLICE = 500  # decisions a Tick, about what the control loop's slices come to
NOW = 1.0


def engine_with(nodes: Iterable[Node]) -> Engine:
    engine = Engine(EngineSettings(default_profile="balanced"))
    for i, node in enumerate(nodes):
        engine.handle(NodeJoined(node), 0.0)
        if i % SLICE == 0:
            engine.take_changes(0.0)  # as the loop does, so that what is remembered of nodes never piles up
    engine.take_changes(0.0)
    return engine


def throughput(engine: Engine, workloads: Iterable[Workload]) -> float:
    """Decisions a second over everything submitted, changes and explanations handed over included."""
    wanted = 0
    for id_, workload in enumerate(workloads, start=1):
        engine.handle(Submitted(id_, workload), NOW)
        wanted += workload.replicas
    decisions: list[Decision] = []
    began = perf_counter()
    while engine.busy:
        engine.handle(Tick(SLICE), NOW)
        decisions += engine.take_changes(NOW).decisions
    elapsed_s = perf_counter() - began
    check_placed(decisions, wanted)
    return wanted / elapsed_s


def timed_decisions(
    engine: Engine, workloads: Iterable[Workload], first_id: int = 1
) -> tuple[list[float], list[Decision]]:
    """The seconds of each decision on its own, and the decisions. Submitting and handing over are not part of it."""
    times: list[float] = []
    decisions: list[Decision] = []
    for id_, workload in enumerate(workloads, start=first_id):
        engine.handle(Submitted(id_, workload), NOW)
        times.append(one_decision_s(engine))
        decisions += engine.take_changes(NOW).decisions
    check_placed(decisions, len(times))
    return times, decisions


def one_decision_s(engine: Engine) -> float:
    tick = Tick(1)
    began = perf_counter()
    engine.handle(tick, NOW)
    return perf_counter() - began


def check_placed(decisions: list[Decision], wanted: int) -> None:
    placed = sum(decision.node is not None and bool(decision.explanation.best) for decision in decisions)
    if placed != wanted:
        raise RuntimeError(f"{placed} of {wanted} tasks were placed and explained; the figure would mean nothing")
