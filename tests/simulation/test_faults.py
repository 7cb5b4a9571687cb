"""Random misfortune on a virtual clock: whatever happens, the books balance and no work is lost or run twice."""

from random import Random

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.examples import examples, seeds, times
from tests.simulation.faulty_world import FaultyWorld
from tests.simulation.misfortune import DEEDS, play

from dovetail.engine.settings import EngineSettings

STEPS = 100
PROFILES = ("balanced", "network", "best_fit", "least_loaded", "round_robin", "random")
EVERYTHING = dict.fromkeys(DEEDS, 2) | {"submit": 6, "go on": 8, "decide": 6, "leave": 1, "restart": 1}


@examples(15, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32), profile=st.sampled_from(PROFILES))
def test_no_task_is_lost_or_runs_twice_whatever_happens(seed: int, profile: str) -> None:
    world = FaultyWorld(EngineSettings(default_profile=profile, seed=seed))
    play(world, Random(seed), STEPS, EVERYTHING)
    world.settle()
    world.check_settled()


@pytest.mark.parametrize("seed", seeds(2))
def test_a_long_run_of_misfortune_leaves_every_workload_ended_or_waiting_with_a_reason(seed: int) -> None:
    world = FaultyWorld(EngineSettings(seed=seed))
    play(world, Random(f"long {seed}"), times(300), EVERYTHING)
    world.settle()
    world.check_settled()


@examples(10)
@given(seed=st.integers(0, 2**32), profile=st.sampled_from(PROFILES))
def test_an_engine_fed_the_recorded_events_again_gives_the_same_commands(seed: int, profile: str) -> None:
    first = FaultyWorld(EngineSettings(default_profile=profile, seed=seed))
    play(first, Random(seed), STEPS, EVERYTHING | {"restart": 0})
    second = FaultyWorld(EngineSettings(default_profile=profile, seed=seed))
    again = []
    for now, event in first.heard:
        again += [(now, command) for command in second.engine.handle(event, now)]
        second.engine.take_changes(now)
    assert again == first.commands
