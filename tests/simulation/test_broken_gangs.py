"""Nodes and leaves fail on a busy cluster: gangs are whole again or wait, nothing runs twice, and all comes to rest."""

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import event as seen_event
from hypothesis import strategies as st
from tests.examples import examples, times
from tests.property.small_recoveries import faults, optimum
from tests.simulation.broken_world import BROKEN_DEEDS, PLACES, BrokenWorld, crowd, place

from dovetail.engine.recovery import planning
from dovetail.engine.settings import EngineSettings
from dovetail.model.command import Stop
from dovetail.placement.recovery.problem import RecoveryPlan, RecoveryProblem
from dovetail.placement.recovery.search import recover

WEIGHTS = dict.fromkeys(BROKEN_DEEDS, 1) | {"submit": 12, "go on": 6, "decide": 10, "fail": 3, "repair": 3, "time": 3}

RECOVERIES: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "holding": {"hold": "2m"},
    "spares": {"hold": 30, "spares": {"level": "leaf"}},
    "slow": {"rate": 1, "at_once": 0.05},
    "silence": {"lost_after": "30s"},
    "off": {"enabled": False},
}


def broken_world(seed: int, kind: str) -> BrokenWorld:
    fields = {
        "seed": seed,
        "default_profile": "spread" if seed % 2 else "packed",
        # Spread out, singles are in the way of gangs and have to move; packed, there is room.
        "profiles": {"packed": {"scores": {"best_fit": 1}}, "spread": {"scores": {"least_loaded": 1}}},
        "recovery": RECOVERIES[kind],
    }
    return BrokenWorld(EngineSettings.model_validate(fields))


def play(world: BrokenWorld, chance: Random, steps: int, weights: dict[str, int] = WEIGHTS) -> None:
    for name in PLACES:
        world.join(place(name, chance))
    for _ in range(steps):
        BROKEN_DEEDS[chance.choices(list(weights), list(weights.values()))[0]](world, chance)


@examples(12, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32), kind=st.sampled_from(sorted(RECOVERIES)))
def test_whatever_fails_gangs_are_whole_or_wait_and_all_comes_to_rest(seed: int, kind: str) -> None:
    world = broken_world(seed, kind)
    play(world, Random(seed), 120)
    world.repair()
    world.settle()
    world.check_settled()


@examples(5)
@given(seed=st.integers(0, 2**32), kind=st.sampled_from(sorted(RECOVERIES)))
def test_the_same_events_give_the_same_commands_again(seed: int, kind: str) -> None:
    world = broken_world(seed, kind)
    play(world, Random(seed), 100, WEIGHTS | {"restart": 0})
    second = broken_world(seed, kind)
    again = []
    for now, event in world.heard:
        again += [(now, command) for command in second.engine.handle(event, now)]
        second.engine.take_changes(now)
    assert again == world.commands


@pytest.mark.parametrize("kind", sorted(RECOVERIES))
def test_a_long_run_of_failures_comes_to_rest(kind: str) -> None:
    world = broken_world(1, kind)
    play(world, Random(f"long {kind}"), times(200))
    world.repair()
    world.settle()
    world.check_settled()


# --- clusters in which nobody can be replaced unless others make way -------------------------------------------

CROWDED = dict.fromkeys(BROKEN_DEEDS, 0) | {
    "fail a gang": 4,
    "repair": 4,
    "go on": 4,
    "time": 2,
    "decide": 6,
    "say again": 6,
}


def crowded_world(seed: int, kind: str, steps: int) -> BrokenWorld:
    world, chance = broken_world(seed, kind), Random(seed)
    crowd(world, chance)
    for _ in range(steps):
        BROKEN_DEEDS[chance.choices(list(CROWDED), list(CROWDED.values()))[0]](world, chance)
    return world


def made_way(world: BrokenWorld) -> int:
    return sum(isinstance(one, Stop) and one.reason.startswith("makes space for") for _, one in world.commands)


@examples(10, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32), kind=st.sampled_from(["as it comes", "holding", "slow"]))
def test_where_singles_are_in_the_way_gangs_are_whole_or_wait_too(seed: int, kind: str) -> None:
    world = crowded_world(seed, kind, 40)
    seen_event(f"{min(made_way(world), 4)} singles made way")
    world.repair()
    world.settle()
    world.check_settled()


def test_singles_do_make_way_and_no_more_of_them_than_must(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the engine asks the search is looked at, and each answer compared with the exact optimum."""
    seen: list[tuple[RecoveryProblem, RecoveryPlan]] = []

    def watched(problem: RecoveryProblem) -> RecoveryPlan:
        seen.append((problem, recover(problem)))
        return seen[-1][1]

    monkeypatch.setattr(planning, "recover", watched)
    moved = sum(made_way(crowded_world(seed, "as it comes", 25)) > 0 for seed in range(30))
    assert moved >= 15, f"singles made way in {moved} of 30 worlds only"
    with_moves = [(problem, plan) for problem, plan in seen if plan.moves]
    assert len(with_moves) >= 15
    for problem, plan in with_moves:
        assert not faults(problem, plan)
        gangs, moves, sure = optimum(problem)
        assert sure
        assert [at for at, places in enumerate(plan.places) if places is not None] == gangs
        assert plan.cost(problem.gangs) == moves
