"""What is said of a gang's communication: in its decisions, and when it is planned."""

import pytest
from tests.unit.engine.scene import Scene

from dovetail.engine.pieces import whole
from dovetail.engine.questions.questions import Questions
from dovetail.model.event import TopologySet
from dovetail.model.network.topology import Topology
from dovetail.model.workloads.workload import Workload

LEVELS = [
    {"name": "leaf", "bandwidth": "50Gbps", "latency": "2us"},
    {"name": "host", "bandwidth": "100Gbps", "latency": "1us"},
]


@pytest.fixture
def scene() -> Scene:
    """Two leaves of two nodes that take one task each."""
    scene = Scene()
    nodes = {f"n{i}": {"leaf": f"l{i // 2}"} for i in range(4)}
    scene.hear(TopologySet(Topology.model_validate({"levels": LEVELS, "nodes": nodes})))
    for name in nodes:
        scene.join(name, cpu=4)
    return scene


def notes_of(scene: Scene, name: str) -> list[tuple[str, ...]]:
    return [decision.explanation.notes for decision in scene.decisions if decision.task.workload == scene.ids[name]]


@pytest.mark.parametrize("topology", [None, {"preferred": "leaf"}])
def test_every_decision_of_a_gang_says_what_its_place_means(scene: Scene, topology: dict[str, str] | None) -> None:
    scene.submit("gang", cpu=4, replicas=4, gang={"min": 4}, topology=topology)
    scene.tick()
    said = notes_of(scene, "gang")
    assert len(said) == 4
    for notes in said:
        assert sum(note.startswith("all-reduce of 1GiB: about 258 ms; 2 × the best possible") for note in notes) == 1


def test_a_gang_on_one_node_and_single_tasks_say_nothing(scene: Scene) -> None:
    scene.submit("small", cpu=1, replicas=2, gang={"min": 2}, topology={"required": "host"})
    scene.submit("single", cpu=1)
    scene.tick()
    said = [*notes_of(scene, "small"), *notes_of(scene, "single")]
    assert len(said) == 3
    assert not any("all-reduce" in note for notes in said for note in notes)


def test_without_a_network_nothing_is_said() -> None:
    scene = Scene()
    for name in ("n0", "n1"):
        scene.join(name, cpu=4)
    scene.submit("gang", cpu=4, replicas=2, gang={"min": 2})
    scene.tick()
    assert not any("all-reduce" in note for notes in notes_of(scene, "gang") for note in notes)


def test_a_plan_is_timed_as_it_would_be_placed(scene: Scene) -> None:
    questions = Questions(scene.engine)
    fields = {"name": "gang", "resources": {"cpu": 4}, "replicas": 2, "gang": {"min": 2}}
    near = questions.plans.communication(whole(questions.plans.plan(Workload.model_validate(fields))))
    scene.submit("holder", cpu=4, constraints=[{"require": 'node.name == "n1"'}])
    scene.submit("other", cpu=4, constraints=[{"require": 'node.name == "n3"'}])
    scene.tick()
    far = questions.plans.communication(whole(questions.plans.plan(Workload.model_validate(fields))))
    assert near is not None
    assert far is not None
    assert (near.ranks, near.nodes) == (far.ranks, far.nodes) == (2, 2)
    assert far.all_reduce.times_best > near.all_reduce.times_best == 1.0
