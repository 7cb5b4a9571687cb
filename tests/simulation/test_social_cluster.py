"""Misfortune among work that minds other work: rules hold when tasks are placed, and nobody waits who would fit."""

from random import Random

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.examples import examples, seeds, times
from tests.simulation.faulty_world import NODES, some_node
from tests.simulation.social_world import SOCIAL_DEEDS, SocialWorld
from tests.simulation.test_shared_cluster import WEIGHTS, shared_settings

PLENTY = examples(8, suppress_health_check=[HealthCheck.too_slow])


def play(world: SocialWorld, chance: Random, steps: int) -> None:
    for name in NODES[:5]:
        world.join(some_node(chance, name))
    for _ in range(steps):
        SOCIAL_DEEDS[chance.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]](world, chance)


@PLENTY
@given(seed=st.integers(0, 2**32), order=st.sampled_from(["priority", "fair", "fifo"]))
def test_rules_hold_when_tasks_are_placed_and_nobody_waits_who_would_fit(seed: int, order: str) -> None:
    world = SocialWorld(shared_settings(seed, order, "off"))
    play(world, Random(seed), 100)
    world.settle()
    world.check_settled()


@PLENTY
@given(seed=st.integers(0, 2**32), mode=st.sampled_from(["easy", "conservative"]))
def test_promises_change_nothing_about_that(seed: int, mode: str) -> None:
    world = SocialWorld(shared_settings(seed, "priority", mode))
    play(world, Random(seed), 100)
    world.settle()
    world.check_settled()


@pytest.mark.parametrize("seed", seeds(2))
def test_a_long_run_comes_to_rest(seed: int) -> None:
    world = SocialWorld(shared_settings(seed, "fair", "off"))
    play(world, Random(f"social {seed}"), times(250))
    world.settle()
    world.check_settled()


@examples(4)
@given(seed=st.integers(0, 2**32))
def test_the_batch_order_keeps_the_rules_as_well(seed: int) -> None:
    world = SocialWorld(shared_settings(seed, "batch", "off"))
    play(world, Random(seed), 80)
    world.settle()
    world.check_settled()
