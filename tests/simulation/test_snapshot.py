"""An engine that goes on from a snapshot file decides what the engine that it was taken from decides from then on."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.simulation.faulty_world import FaultyWorld
from tests.simulation.misfortune import play
from tests.simulation.test_restart import EVENTS, STEPS, Fork, bearing, in_batch_order

from dovetail.engine.engine import Engine
from dovetail.engine.settings import EngineSettings
from dovetail.model.command import Command, Wake
from dovetail.model.event import BackendHealthChanged
from dovetail.model.record import spec_text
from dovetail.placement.pipeline.profiles import BUILT_IN
from dovetail.queueing.settings import QuarantineSettings
from dovetail.snapshots.conversion import document_of, records_of
from dovetail.snapshots.file import read_snapshot, written


@examples(10)
@given(
    seed=st.integers(0, 2**32),
    fork_at=st.integers(0, STEPS - 1),
    profile=st.sampled_from(["balanced", "best_fit", "gpu_topology", "round_robin", "random"]),
)
def test_an_engine_goes_on_from_a_snapshot_file_as_the_live_one_does(seed: int, fork_at: int, profile: str) -> None:
    calm = BUILT_IN[profile].model_copy(update={"preemption": False})
    settings = EngineSettings(
        default_profile=profile, seed=seed, profiles={profile: calm}, quarantine=QuarantineSettings(failures=1000)
    )
    _expect_the_same(settings, seed, fork_at)


@examples(5)
@given(seed=st.integers(0, 2**32), fork_at=st.integers(0, STEPS - 1))
def test_a_snapshot_file_keeps_the_batch_order(seed: int, fork_at: int) -> None:
    _expect_the_same(in_batch_order(seed), seed, fork_at)


def _expect_the_same(settings: EngineSettings, seed: int, fork_at: int) -> None:
    world, forks = FaultyWorld(settings), list[tuple[Fork, dict[int, str]]]()

    def note(number: int) -> None:
        if number == fork_at:
            texts = {id_: spec_text(spec) for id_, spec in world.notebook.specs.items()}
            forks.append((Fork(world), texts))

    play(world, Random(seed), STEPS, EVENTS, before=note)
    world.decide()
    fork, texts = forks[0]
    data = written(document_of(fork.snapshot, texts, settings, fork.now))
    document = read_snapshot(data, "snapshot.json")
    assert written(document) == data
    restored = Engine(document.settings)
    restored.restore(records_of(document, lambda _: ""))
    for backend in fork.down:
        restored.handle(BackendHealthChanged(backend, False, ""), fork.now)
    commands: list[tuple[float, Command]] = []
    for now, event in world.heard[fork.heard :]:
        commands += [(now, command) for command in restored.handle(event, now) if not isinstance(command, Wake)]
        restored.take_changes(now)
    expected = [(now, command) for now, command in world.commands[fork.commands :] if not isinstance(command, Wake)]
    assert commands == expected
    assert bearing(restored) == bearing(world.engine)
