"""Misfortune on a shared cluster: gangs stay whole, quotas hold, the books balance, and nobody is lost or stuck."""

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st
from tests.examples import examples, seeds, times
from tests.simulation.faulty_world import NODES, some_node
from tests.simulation.shared_world import QUEUES, SHARED_DEEDS, SharedWorld

from dovetail.engine.settings import EngineSettings

WEIGHTS = dict.fromkeys(SHARED_DEEDS, 2) | {"submit": 8, "go on": 10, "decide": 8, "leave": 1, "restart": 1, "time": 3}


def shared_settings(seed: int, order: str = "priority", mode: str = "easy", **more: Any) -> EngineSettings:
    fields = {
        "seed": seed,
        "queues": QUEUES,
        "default_profile": "shared",
        "profiles": {"shared": {"order": order, "scores": {"best_fit": 1}}},
        "schedulers": {"default": {"backfill": {"mode": mode}}},
        "quarantine": {"failures": 2, "pause": 20},
        "promotion": {"after": 100},
    }
    return EngineSettings.model_validate(fields | more)


def play(world: SharedWorld, chance: Random, steps: int, weights: Mapping[str, int] = WEIGHTS) -> None:
    for name in NODES[:5]:
        world.join(some_node(chance, name))
    for _ in range(steps):
        SHARED_DEEDS[chance.choices(list(weights), list(weights.values()))[0]](world, chance)


@examples(9, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 2**32),
    order=st.sampled_from(["priority", "fair", "fifo"]),
    mode=st.sampled_from(["easy", "conservative", "off"]),
)
def test_whatever_happens_gangs_are_whole_quotas_hold_and_all_ends_or_truly_cannot_run(
    seed: int, order: str, mode: str
) -> None:
    world = SharedWorld(shared_settings(seed, order, mode))
    play(world, Random(seed), 100)
    world.settle()
    world.check_settled()


@examples(4)
@given(seed=st.integers(0, 2**32), head=st.sampled_from(["first", "sticky"]))
def test_strict_order_loses_nobody_either(seed: int, head: str) -> None:
    backfill = {"mode": "none", "head": head}
    world = SharedWorld(shared_settings(seed, schedulers={"default": {"backfill": backfill}}))
    play(world, Random(seed), 100)
    world.settle()


@examples(4)
@example(seed=54010290)  # two workloads were head in turn, and withdrew each other's promise for ever
@given(seed=st.integers(0, 2**32))
def test_a_past_that_counts_and_ageing_change_nothing_about_that(seed: int) -> None:
    fair = {"half_life": "10m", "ageing": "10m", "weights": {"x": 2}}
    world = SharedWorld(shared_settings(seed, "fair", fair=fair))
    play(world, Random(seed), 100)
    world.settle()
    world.check_settled()


@pytest.mark.parametrize("seed", seeds(2))
def test_a_long_run_on_a_shared_cluster_comes_to_rest(seed: int) -> None:
    world = SharedWorld(shared_settings(seed, "fair"))
    play(world, Random(f"long {seed}"), times(250))
    world.settle()
    world.check_settled()


@examples(4)
@given(seed=st.integers(0, 2**32), order=st.sampled_from(["priority", "fair"]))
def test_the_same_events_give_the_same_commands_again(seed: int, order: str) -> None:
    world = SharedWorld(shared_settings(seed, order))
    play(world, Random(seed), 100, WEIGHTS | {"restart": 0})
    second = SharedWorld(shared_settings(seed, order))
    again = []
    for now, event in world.heard:
        again += [(now, command) for command in second.engine.handle(event, now)]
        second.engine.take_changes(now)
    assert again == world.commands


@pytest.mark.parametrize(
    ("seed", "order", "mode"),
    [
        pytest.param(232, "fair", "off", id="borrowers by priority and an owner by its guarantee took turns for ever"),
        pytest.param(5288, "fifo", "conservative", id="victims came back first and were displaced again for ever"),
        pytest.param(6216, "priority", "off", id="promoted work displaced its own tasks"),
    ],
)
def test_what_once_went_wrong_comes_to_rest(seed: int, order: str, mode: str) -> None:
    world = SharedWorld(shared_settings(seed, order, mode))
    play(world, Random(seed), 100)
    world.settle()
    world.check_settled()
