"""A Tick that counts effort decides fewer new shapes, so that a turn of the control loop stays short."""

from typing import Any

from tests.unit.engine.scene import Scene

from dovetail.model.event import Tick

SHAPES = 10


def scene_with(**fields: Any) -> Scene:
    scene = Scene()
    scene.join("n", cpu=64)
    for number in range(SHAPES):
        scene.submit(f"w{number}", cpu=1 + number / 10, **fields)
    return scene


def placed(scene: Scene, tick: Tick) -> int:
    before = len(scene.decisions)
    scene.hear(tick)
    return len(scene.decisions) - before


def test_new_shapes_count_for_several_decisions() -> None:
    assert placed(scene_with(), Tick(SHAPES)) == SHAPES
    scene = scene_with()
    assert placed(scene, Tick(SHAPES, by_effort=True)) == 2
    assert scene.engine.spent >= SHAPES
    assert scene.engine.busy


def test_shapes_that_are_known_count_as_one() -> None:
    scene = scene_with()
    scene.tick()
    for number in range(SHAPES):
        scene.submit(f"again{number}", cpu=1 + number / 10)
    assert placed(scene, Tick(SHAPES, by_effort=True)) == SHAPES


def test_long_constraints_count_for_more() -> None:
    long = " && ".join(f'node.labels.x{number} != "v"' for number in range(20))
    scene = scene_with(constraints=[{"prefer": long}])
    assert placed(scene, Tick(SHAPES, by_effort=True)) == 1
