"""The timetable never gives a node more than it has, and with it every job ends in time."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.property.test_preempting_to_save import HOUR_S, clouds, jobs_drawn, own, workload

from dovetail.backends.simulated.settings import NodeGroup, SimulatedSettings
from dovetail.cluster.horizon import RowProfile
from dovetail.engine.settings import EngineSettings
from dovetail.placement.market.timetable import Candidate, Timetable
from dovetail.placement.market.timetable_search import TimetableSearch, first_weight
from dovetail.simulate.replay import Simulation

CORES = 8
candidates_drawn = st.lists(
    st.tuples(st.integers(1, CORES), st.integers(1, 20), st.integers(0, 40), st.integers(1, 9)), max_size=14
)


def candidates(drawn: list[tuple[int, int, int, int]], rows: int) -> list[Candidate]:
    everywhere = tuple(range(rows))
    return [
        Candidate(number, 0, np.array([float(cores)]), everywhere, float(run), float(latest), float(value))
        for number, (cores, run, latest, value) in enumerate(drawn)
    ]


def check(table: Timetable, known: list[Candidate], free: list[int]) -> None:
    for moment in sorted({start.at for start in table.starts.values()}):
        for row, cores in enumerate(free):
            held = 0.0
            for one in known:
                start = table.starts.get(one.id)
                if start is not None and start.row == row and start.at <= moment < start.at + one.run_s:
                    held += one.column[0]
            assert held <= cores
    for one in known:
        assert one.id not in table.starts or 0.0 <= table.starts[one.id].at <= one.latest
    assert table.value == sum(one.value for one in known if one.id in table.starts)


@examples(200)
@given(drawn=candidates_drawn, free=st.lists(st.integers(0, CORES), min_size=1, max_size=2))
def test_no_node_is_entered_for_more_than_it_has(drawn: list[tuple[int, int, int, int]], free: list[int]) -> None:
    known = candidates(drawn, len(free))
    profiles = {row: RowProfile(0.0, np.array([float(cores)]), []) for row, cores in enumerate(free)}
    search = TimetableSearch(0.0, profiles, known, {one.id: first_weight(one, 1.0) for one in known}, 6)
    search.go_on(10_000)
    table = Timetable(0.0, profiles)
    table.keep({one.id: one for one in known}, search.best, {one.id: one.latest for one in known})
    assert table.starts == search.best
    check(table, known, free)
    for one in known:
        if one.id not in table.starts:
            table.enter(one)
    table.bring_forward(known)
    check(table, known, free)


@examples(80)
@given(drawn=jobs_drawn, nodes=st.integers(1, 2), known=st.booleans(), preempt=st.sampled_from(["never", "savings"]))
def test_every_job_ends_in_time(drawn: list[tuple[int, int, int, int]], nodes: int, known: bool, preempt: str) -> None:
    """`known`: all jobs are submitted at the beginning."""
    drawn = sorted(drawn)
    arrivals = []
    for number, (submit, run, cores, late) in enumerate(drawn):
        within_s = (run / 2 * 1.1 + late / 2) * HOUR_S + (submit / 2 * HOUR_S if known else 0.0)
        arrivals.append((0.0 if known else submit / 2 * HOUR_S, workload(number, run / 2 * HOUR_S, cores, within_s)))
    market = {"prefer": "cheapest", "margin": "60s", "preempt": preempt, "timetable": True}
    engine = EngineSettings.model_validate({"market": market, "schedulers": {"default": {"order": "savings"}}})
    world = SimulatedSettings(groups=[NodeGroup(prefix="unused", count=1)])
    simulation = Simulation(engine, world, iter(arrivals), nodes=[*own(nodes), *clouds()])
    simulation.run()
    ends = {life.name: life.finished_at for life in simulation.ledger.lives.values()}
    for submitted_at, spec in arrivals:
        end, deadline = ends[spec.name], spec.deadline
        assert end is not None
        assert deadline is not None
        assert deadline.finish_within is not None
        assert end <= submitted_at + deadline.finish_within
