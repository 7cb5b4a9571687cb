"""A restored engine goes on exactly as the one that was never restarted, whatever happened before and happens after."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.simulation.faulty_world import FaultyWorld
from tests.simulation.misfortune import DEEDS, play

from dovetail.engine.engine import Engine
from dovetail.engine.settings import DEFAULT_SCHEDULER, EngineSettings, SchedulerSettings
from dovetail.engine.state.live_task import LiveTask
from dovetail.model.command import Command, Wake
from dovetail.model.event import BackendHealthChanged
from dovetail.model.task import TaskId
from dovetail.placement.pipeline.profiles import BUILT_IN
from dovetail.queueing.settings import BackfillSettings, QuarantineSettings

STEPS = 120
MINUTELY = ("usual_times", "run_times", "dynamic_orderings")
EVENTS = dict.fromkeys(DEEDS, 2) | {"submit": 6, "go on": 6, "decide": 6, "refuse": 3, "drain": 1, "restart": 0}


class Fork:
    """The moment of a restart: what was written down until then, and how far the recording had come."""

    def __init__(self, world: FaultyWorld) -> None:
        self.snapshot = world.notebook.snapshot()
        # Written down once a minute; here it is that very moment.
        written = world.engine.memory(world.now)
        self.snapshot.memory.update({name: written[name] for name in MINUTELY if name in written})
        self.heard, self.commands = len(world.heard), len(world.commands)
        self.down, self.now = sorted(world.down), world.now


@examples(15)
@given(
    seed=st.integers(0, 2**32),
    fork_at=st.integers(0, STEPS - 1),
    profile=st.sampled_from(
        ["balanced", "network", "best_fit", "least_loaded", "gpu_topology", "round_robin", "random"]
    ),
)
def test_a_restored_engine_decides_what_the_engine_before_it_would_have(seed: int, fork_at: int, profile: str) -> None:
    # After a restart everything that waits is looked at again, so preemption may be tried where it was not before, and
    # nodes in quarantine get their chance at once.
    calm = BUILT_IN[profile].model_copy(update={"preemption": False})
    chosen = EngineSettings(
        default_profile=profile, seed=seed, profiles={profile: calm}, quarantine=QuarantineSettings(failures=1000)
    )
    _expect_the_same_after_a_restart(chosen, seed, fork_at)


@examples(8)
@given(seed=st.integers(0, 2**32), fork_at=st.integers(0, STEPS - 1))
def test_a_restored_engine_keeps_its_batch_order(seed: int, fork_at: int) -> None:
    _expect_the_same_after_a_restart(in_batch_order(seed), seed, fork_at)


def test_a_batch_order_forgets_work_that_ended_after_its_memory_was_written() -> None:
    world, forks = FaultyWorld(in_batch_order(3)), list[Fork]()
    play(
        world,
        Random(3),
        STEPS,
        EVENTS,
        before=lambda number: forks.append(Fork(world)) if number == STEPS // 2 else None,
    )
    snapshot = world.notebook.snapshot()
    snapshot.memory["dynamic_orderings"] = forks[0].snapshot.memory["dynamic_orderings"]
    live = {one.id for one in snapshot.workloads}
    assert {one.id for one in forks[0].snapshot.workloads} - live
    restored = Engine(in_batch_order(3))
    restored.restore(snapshot)
    pending = restored._state.pending
    (ordering,) = pending.dynamic_orderings.values()
    memory = ordering.memory()
    assert {id_ for id_, *_ in memory["short_work"]["running"]} <= live
    assert set(pending._remembered) <= live


def in_batch_order(seed: int) -> EngineSettings:
    calm = BUILT_IN["balanced"].model_copy(update={"preemption": False})
    batch = SchedulerSettings(profile="balanced", order="batch", backfill=BackfillSettings(mode="easy"))
    return EngineSettings(
        default_profile="balanced",
        seed=seed,
        profiles={"balanced": calm},
        schedulers={DEFAULT_SCHEDULER: batch},
        quarantine=QuarantineSettings(failures=1000),
    )


def _expect_the_same_after_a_restart(chosen: EngineSettings, seed: int, fork_at: int) -> None:
    world = FaultyWorld(chosen)
    forks: list[Fork] = []
    play(
        world,
        Random(seed),
        STEPS,
        EVENTS,
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
    # When to be woken is asked for anew after a restart.
    commands = [(now, command) for now, command in commands if not isinstance(command, Wake)]
    expected = [(now, command) for now, command in world.commands[fork.commands :] if not isinstance(command, Wake)]
    assert commands == expected
    assert bearing(restored) == bearing(world.engine)


def bearing(engine: Engine) -> dict[str, object]:
    """What the next decisions depend on, also where the events of this test did not ask for it."""
    state = engine._state
    return {
        "rows": state.cluster.rows,
        "cursors": {name: p.cursor for name, p in state.pipelines.items() if p.settings.select == "round_robin"},
        "outcomes": {name: state.cluster.outcomes(name) for name in state.cluster.rows},
        "reservations": state.reservations,
        "tasks": {
            TaskId(work.id, replica): work.tasks.get(replica, LiveTask())
            for work in state.work.values()
            for replica in range(work.replicas)
        },
    }
