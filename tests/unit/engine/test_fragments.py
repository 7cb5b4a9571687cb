"""What typical work cannot use, by domain and by ask, and what moving tasks would win back."""

from typing import Any

import pytest
from tests.invariants import check_invariants
from tests.unit.engine.scene import Scene

from dovetail.engine.questions.fragmentation import CLUSTER, fragment_report, recoverable_capacity


def scene_of(nodes: int, gpus: int = 4, cpu: float = 32, **settings: Any) -> Scene:
    scene = Scene(**settings)
    for i in range(nodes):
        rack = {"rack": f"r{i // 2}"}
        scene.join(f"n{i}", cpu=cpu, capacity={"gpu": gpus}, gpus=[{"count": gpus, "model": "T4"}], labels=rack)
    return scene


def gpu_work(scene: Scene, name: str, gpu: Any, node: str, **more: Any) -> None:
    scene.run(name, resources={"cpu": 1, "gpu": gpu}, constraints=[{"require": f'node.name == "{node}"'}], **more)


def seen(scene: Scene, **asks: Any) -> None:
    """Tasks that came and went, by what they ask for."""
    for name, (gpu, count) in asks.items():
        scene.submit(name, resources={"cpu": 1, "gpu": gpu}, replicas=count)
        scene.cancel(name)


def test_an_empty_cluster_has_no_fragments() -> None:
    scene = scene_of(4)
    seen(scene, whole=(4, 40))
    report = fragment_report(scene.engine._state)
    whole = report.domains[0]
    assert (whole.level, whole.gpus, whole.free, whole.useless) == (CLUSTER, 16_000, 16_000, 0)
    assert whole.unusable == pytest.approx(0)
    assert [(one.nodes, one.tasks, one.share) for one in report.asks] == [(4, 4, 1.0)]
    assert report.seen == 40


def test_what_typical_work_cannot_use_is_told_for_each_domain() -> None:
    scene = scene_of(4)
    seen(scene, single=(1, 10), whole=(4, 30))
    gpu_work(scene, "one", 1, "n0")
    domains = {(one.level, one.name): one for one in fragment_report(scene.engine._state).domains}
    assert list(domains) == [(CLUSTER, CLUSTER), ("rack", "r0"), ("rack", "r1")]
    # Three GPUs are left on n0: three of four tasks want four.
    assert domains["rack", "r0"].unusable == pytest.approx(3000 * 30 / 40, rel=0.05)
    assert domains["rack", "r1"].unusable == pytest.approx(0)
    assert domains[CLUSTER, CLUSTER].unusable == domains["rack", "r0"].unusable
    assert domains["rack", "r0"].useless == 0


def test_what_no_typical_task_can_use_is_useless_and_the_ask_fits_nowhere() -> None:
    scene = scene_of(2)
    seen(scene, whole=(4, 40))
    gpu_work(scene, "a", 1, "n0")
    gpu_work(scene, "b", "200m", "n1")
    report = fragment_report(scene.engine._state)
    assert report.domains[0].useless == report.domains[0].free == 6800
    assert (report.asks[0].nodes, report.asks[0].tasks) == (0, 0)


def test_nodes_that_take_no_work_are_left_out() -> None:
    scene = scene_of(2)
    seen(scene, whole=(4, 40))
    scene.engine._state.cluster.set_cordoned("n0", True)
    assert fragment_report(scene.engine._state).domains[0].gpus == 4000


def test_a_cluster_without_gpus_has_nothing_to_report() -> None:
    scene = Scene()
    scene.join("n")
    report = fragment_report(scene.engine._state)
    assert (report.domains[0].gpus, report.asks) == (0, [])
    assert recoverable_capacity(scene.engine._state).movable == 0


def test_moving_scattered_tasks_together_wins_whole_nodes_back_and_nothing_is_changed() -> None:
    scene = scene_of(4)
    seen(scene, whole=(4, 400))
    for i in range(4):
        gpu_work_anywhere(scene, f"w{i}", f"n{i}")
    before = {name: scene.on(name) for name in scene.ids if scene.ids[name] in scene.engine._state.work}
    free = scene.engine._state.cluster.devices.free.copy()
    found = recoverable_capacity(scene.engine._state)
    assert (found.moves, found.tried, found.movable) == (3, 4, 4)
    # Four nodes with three GPUs left each, which no task can use; three of them are whole again.
    assert found.won > 8000
    assert {name: scene.on(name) for name in before} == before
    assert (scene.engine._state.cluster.devices.free == free).all()
    check_invariants(scene.engine._state.cluster)


def gpu_work_anywhere(scene: Scene, name: str, node: str) -> None:
    """On this node now, though any would do."""
    others = [other for other in scene.engine._state.cluster.rows if other != node]
    for other in others:
        scene.engine._state.cluster.set_cordoned(other, True)
    scene.run(name, resources={"cpu": 1, "gpu": 1})
    for other in others:
        scene.engine._state.cluster.set_cordoned(other, False)


def test_gangs_and_work_that_may_not_be_preempted_stay() -> None:
    scene = scene_of(4)
    seen(scene, whole=(4, 400))
    scene.run("gang", resources={"cpu": 1, "gpu": 1}, replicas=2, gang={"min": 2})
    scene.run("firm", resources={"cpu": 1, "gpu": 1}, disruption={"allowed": False})
    assert recoverable_capacity(scene.engine._state).movable == 0
