"""Tasks that are placed together are told of each other, so that their backend can start all of them or none."""

from collections import defaultdict

from tests.unit.engine.scene import Scene

from dovetail.model.command import Bind, GangStart
from dovetail.model.event import Tick


def binds(scene: Scene) -> list[Bind]:
    return [command for command in scene.hear(Tick(100)) if isinstance(command, Bind)]


def test_the_tasks_of_a_gang_start_together() -> None:
    scene = Scene()
    scene.join("a", backend="hpc")
    scene.join("b", backend="hpc")
    id_ = scene.submit("train", cpu=3, replicas=2, gang={"min": 2})
    assert [bind.gang for bind in binds(scene)] == [GangStart(f"{id_}.0.1", 2)] * 2


def test_those_on_different_backends_are_different_starts_and_one_alone_waits_for_nobody() -> None:
    scene = Scene()
    for name, backend in (("a", "hpc"), ("b", "hpc"), ("c", "other")):
        scene.join(name, backend=backend)
    scene.submit("train", cpu=3, replicas=3, gang={"min": 3})
    found = defaultdict(list)
    for bind in binds(scene):
        found[bind.backend].append(bind)
    assert {bind.gang for bind in found["hpc"]} == {GangStart(found["hpc"][0].key, 2)}
    assert [bind.gang for bind in found["other"]] == [None]


def test_tasks_beyond_the_least_and_tasks_of_no_gang_start_by_themselves() -> None:
    scene = Scene()
    scene.join("a", cpu=16, backend="hpc")
    scene.submit("elastic", replicas=3, gang={"min": 2})
    scene.submit("plain", replicas=2)
    starts = [bind.gang for bind in binds(scene)]
    assert [start.tasks for start in starts if start is not None] == [2, 2]
    assert starts.count(None) == 3
