"""Work that arrives with its terms worked out, and may run already."""

from tests.unit.engine.scene import Scene

from dovetail.engine.state.terms import terms_of
from dovetail.model.event import Nominated, TaskFinished, WorkArrived
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload


def arrive(scene: Scene, name: str, cpu: float = 1, nodes: tuple[str, ...] = (), **more: int) -> None:
    spec = Workload.model_validate({"name": name, "resources": {"cpu": cpu}})
    id_ = scene.ids[name] = len(scene.ids) + 1
    terms = terms_of(scene.engine._state.router, spec)
    event = WorkArrived(id_, "default", name, more.get("rank", 2), terms, more.get("replicas", 1), nodes)
    scene.engine.handle(event, scene.now)


def test_what_waits_of_it_is_decided_like_any_other_work() -> None:
    scene = Scene()
    scene.join("n1", cpu=2)
    arrive(scene, "a", replicas=3)
    assert scene.tick() == ["a.0", "a.1"]


def test_what_runs_already_counts_on_its_node_and_nobody_is_told_to_start_it() -> None:
    scene = Scene()
    scene.join("n1", cpu=3)
    arrive(scene, "a", cpu=2, nodes=("n1",))
    assert scene.tick() == []
    assert scene.on("a") == ["n1"]
    scene.submit("b", cpu=2)
    assert scene.tick() == []
    task = TaskId(scene.ids["a"], 0)
    scene.hear(TaskFinished(task, f"{task}.1", 0, "exit status 0"))
    assert scene.tick() == ["b.0"]


def test_it_goes_where_somebody_expects_it_if_it_may() -> None:
    scene = Scene()
    for name, cpu in (("n1", 1), ("n2", 64), ("n3", 64)):
        scene.join(name, cpu=cpu)
    for name, node in (("a", "n1"), ("b", "n1"), ("c", "nowhere")):
        arrive(scene, name)
        scene.hear(Nominated(scene.ids[name], node))
    scene.tick()
    assert scene.on("a") == ["n1"]
    assert scene.on("b") != ["n1"]
    assert len(scene.on("c")) == 1


def test_an_expectation_can_be_taken_back() -> None:
    scene = Scene()
    scene.join("n1", cpu=2)
    scene.join("n2", cpu=64)
    arrive(scene, "a")
    scene.hear(Nominated(scene.ids["a"], "n1"))
    scene.hear(Nominated(scene.ids["a"], ""))
    scene.hear(Nominated(99, "n1"))
    scene.tick()
    assert scene.on("a") == ["n2"]


def test_it_counts_even_where_it_does_not_fit() -> None:
    scene = Scene()
    scene.join("n1", cpu=1)
    arrive(scene, "a", cpu=2, nodes=("n1",))
    assert scene.on("a") == ["n1"]
    assert scene.engine._state.cluster.resources.free[0, 0] == -1000


def test_of_a_node_that_nobody_knows_it_waits() -> None:
    scene = Scene()
    scene.join("n1")
    arrive(scene, "a", replicas=2, nodes=("gone", "n1"))
    assert scene.tick() == ["a.0"]
    assert scene.on("a") == ["n1", "n1"]


def test_it_may_be_displaced_by_what_is_more_urgent() -> None:
    scene = Scene()
    scene.join("n1", cpu=2)
    arrive(scene, "a", cpu=2, nodes=("n1",), rank=4)
    scene.submit("b", cpu=2, priority="high")
    assert scene.tick() == []
    assert scene.stopping() == ["a.0"]
