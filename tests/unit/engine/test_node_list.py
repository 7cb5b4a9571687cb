"""Lists of nodes: search, status, order and counts agree with what is said of each node."""

import pytest
from tests.unit.engine.scene import Scene

from dovetail.engine.pieces import whole
from dovetail.engine.questions.node_list import NODE_SORTS, STATUSES, NodeOrder
from dovetail.engine.questions.questions import Questions
from dovetail.model.event import BackendHealthChanged, NodeCordoned, NodeDrained, NodeHealthChanged


@pytest.fixture
def scene() -> Scene:
    found = Scene()
    for name in ("gpu-b", "gpu-a", "cpu-a", "cpu-b", "cpu-c"):
        found.join(name, 8, labels={"host": name}, capacity={"gpu": 4} if "gpu" in name else {})
    found.join("away", 8, backend="elsewhere")
    found.submit("one", 6, node_selector={"host": "cpu-b"})
    found.submit("two", 1, resources={"cpu": 1, "gpu": 4}, node_selector={"host": "gpu-b"})
    found.tick()
    found.hear(NodeCordoned("gpu-a", True, "disk"))
    found.hear(NodeDrained("cpu-a", "repair"))
    found.hear(NodeHealthChanged("cpu-c", False, "silent"))
    found.hear(BackendHealthChanged("elsewhere", False, "no answer"))
    return found


def ordered(scene: Scene, *how: object) -> NodeOrder:
    return whole(Questions(scene.engine).nodes.ordered(*how))  # type: ignore[arg-type]


def test_counts_and_statuses_agree_with_those_of_single_nodes(scene: Scene) -> None:
    uses = Questions(scene.engine).nodes.uses()
    found = ordered(scene)
    assert found.names == sorted(use.name for use in uses)
    assert list(found.counts) == list(STATUSES)
    for status in STATUSES:
        names = [use.name for use in uses if use.status == status]
        assert found.counts[status] == len(names)
        assert ordered(scene, "", {status}).names == names
        assert ordered(scene, "", {status}).counts == found.counts


def test_orders(scene: Scene) -> None:
    assert ordered(scene, "", (), "-use").names[:2] == ["gpu-b", "cpu-b"]
    assert ordered(scene, "", (), "-gpu").names[0] == "gpu-b"
    assert ordered(scene, "", (), "-tasks").names[:2] == ["cpu-b", "gpu-b"]
    assert ordered(scene, "", (), "-name").names == sorted(ordered(scene).names, reverse=True)
    assert ordered(scene, "", (), "health").names[:2] == ["cpu-c", "away"]
    assert ordered(scene, "", (), "-health").names[-1] == "cpu-c"
    for sort in NODE_SORTS:
        assert sorted(ordered(scene, "", (), sort).names) == ordered(scene).names


def test_a_search_finds_parts_of_names_in_any_case(scene: Scene) -> None:
    assert ordered(scene, "GPU").names == ["gpu-a", "gpu-b"]
    assert sum(ordered(scene, "gpu").counts.values()) == 2
    assert ordered(scene, "nobody").names == []
