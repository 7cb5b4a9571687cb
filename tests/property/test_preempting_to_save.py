"""Preemption to save money ends by itself, makes nobody late, and each one saves what it says."""

import re
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from dovetail.backends.simulated.settings import NodeGroup, SimulatedSettings
from dovetail.engine.settings import EngineSettings
from dovetail.model.command import Command, Stop
from dovetail.model.event import Event
from dovetail.model.node import Node
from dovetail.model.workloads.workload import Workload
from dovetail.simulate.replay import Simulation

HOUR_S = 3600.0
SAVES = re.compile(r"preempted to save (\d+\.\d\d) USD: .* would cost (\d+\.\d\d) elsewhere, (?:and|could)")
MARKET = {"prefer": "cheapest", "margin": "60s", "preempt": "savings"}

jobs_drawn = st.lists(
    st.tuples(
        st.integers(0, 12),  # half hours until it is submitted
        st.integers(1, 16),  # half hours that it runs
        st.sampled_from([1, 2, 4, 8]),  # cores
        st.sampled_from([1, 4, 12]),  # half hours that it may be late
    ),
    min_size=1,
    max_size=14,
)


def clouds() -> list[Node]:
    found = []
    for size, price in ((1, 0.06), (2, 0.1), (4, 0.2), (8, 0.9)):
        offer = {"price_per_hour": price, "running": False, "start_up": "2m", "place": "aws/us-east-1"}
        node = {"capacity": {"cpu": size, "memory": "64GiB"}, "offer": offer}
        found += [Node.model_validate({"name": f"m{size}-{number}", **node}) for number in range(16)]
    return found


def own(count: int) -> list[Node]:
    return [Node.model_validate({"name": f"own-{n}", "capacity": {"cpu": 8, "memory": "64GiB"}}) for n in range(count)]


def workload(number: int, run_s: float, cores: int, within_s: float) -> Workload:
    deadline = {"run_for": f"{run_s:.0f}s", "finish_within": f"{within_s:.0f}s"}
    run = {"simulate": {"run_time": f"{run_s:.0f}s"}}
    spec = {"name": f"job-{number}", "resources": {"cpu": cores, "memory": "1GiB"}, "deadline": deadline, "run": run}
    return Workload.model_validate(spec)


@examples(120)
@given(drawn=jobs_drawn, nodes=st.integers(1, 2))
def test_every_job_ends_in_time_and_every_preemption_saves(drawn: list[tuple[int, int, int, int]], nodes: int) -> None:
    drawn = sorted(drawn)
    within = [run / 2 * HOUR_S * 1.1 + late / 2 * HOUR_S for _, run, _, late in drawn]
    arrivals = [
        (submit / 2 * HOUR_S, workload(number, run / 2 * HOUR_S, cores, within[number]))
        for number, (submit, run, cores, _) in enumerate(drawn)
    ]
    stops: list[Stop] = []

    def watch(_: float, __: Event, commands: list[Command]) -> None:
        stops.extend(command for command in commands if isinstance(command, Stop))

    engine = EngineSettings.model_validate({"market": MARKET, "schedulers": {"default": {"order": "savings"}}})
    world = SimulatedSettings(groups=[NodeGroup(prefix="unused", count=1)])
    simulation = Simulation(engine, world, iter(arrivals), nodes=[*own(nodes), *clouds()], watch=watch)
    simulation.run()
    ends = {life.name: life.finished_at for life in simulation.ledger.lives.values()}
    for number, (submitted_at, spec) in enumerate(arrivals):
        end = ends[spec.name]
        assert end is not None
        assert end <= submitted_at + within[number]
    for stop in stops:
        found = SAVES.match(stop.reason)
        assert found is not None, stop.reason
        assert float(found[1]) >= 0.1 * float(found[2]) - 0.02
    # A job is stopped for dearer ones only, and each of those goes to the node that was cleared for it once.
    assert all(times < len(drawn) for times in Counter(stop.task for stop in stops).values())
