"""A restored engine goes on exactly as the one that was never restarted.

Without retries, refusals and changes of the fleet: how often a task has failed, and in which row a node stood, are not
written down.
"""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.simulation.faulty_world import FaultyWorld
from tests.simulation.misfortune import play

from dovetail.engine.engine import Engine
from dovetail.engine.settings import EngineSettings
from dovetail.model.command import Command
from dovetail.model.event import BackendHealthChanged

STEPS = 120
WRITTEN_DOWN = {
    "submit once": 6, "go on": 6, "end": 2, "say again": 2, "cancel": 2, "health": 2, "cordon": 2, "drain": 1,
    "backend": 1, "reserve": 1, "release": 1, "time": 2, "decide": 6,
}  # fmt: skip


class Fork:
    """The moment of a restart: what was written down until then, and how far the recording had come."""

    def __init__(self, world: FaultyWorld) -> None:
        self.snapshot = world.notebook.snapshot()
        self.heard, self.commands = len(world.heard), len(world.commands)
        self.down, self.now = sorted(world.down), world.now


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    fork_at=st.integers(0, STEPS - 1),
    profile=st.sampled_from(["balanced", "network", "best_fit", "least_loaded", "random"]),
)
def test_a_restored_engine_decides_what_the_engine_before_it_would_have(seed: int, fork_at: int, profile: str) -> None:
    chosen = EngineSettings(default_profile=profile, seed=seed)
    world = FaultyWorld(chosen)
    forks: list[Fork] = []
    play(
        world,
        Random(seed),
        STEPS,
        WRITTEN_DOWN,
        before=lambda number: forks.append(Fork(world)) if number == fork_at else None,
    )
    world.decide()
    fork = forks[0]
    restored = Engine(chosen)
    restored.restore(fork.snapshot)
    for backend in fork.down:
        restored.handle(BackendHealthChanged(backend, False, ""), fork.now)
    commands: list[tuple[float, Command]] = []
    for now, event in world.heard[fork.heard :]:
        commands += [(now, command) for command in restored.handle(event, now)]
        restored.take_changes(now)
    assert commands == world.commands[fork.commands :]
