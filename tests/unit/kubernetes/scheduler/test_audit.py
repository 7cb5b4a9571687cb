"""The audit finds whatever our state has that the API does not say, and the other way round; and nothing else."""

from collections.abc import Callable

import pytest
from tests.unit.kubernetes.scheduler.world import FOO, World, node, pod

from dovetail.model.task import TaskId


@pytest.fixture
def world() -> World:
    """Two nodes, pods on them of ours and of others, one that waits and some that count nowhere."""
    found = World()
    found.have_node(node("n1", zone="z1"))
    found.have_node(node("n2", cpu="2"))
    found.have_pod(pod("ours"))
    found.have_pod(pod("theirs", on="n2", schedulerName="somebody"))
    found.have_pod(pod("lost", on="a node that is gone"))
    found.have_pod(pod("ended", on="n1", phase="Succeeded"))
    found.have_pod(pod("gated", schedulingGates=[{"name": "example.com/gate"}]))
    found.have_pod(pod("not-ours", schedulerName="somebody"))
    found.bind()
    found.have_pod(pod("waits", nodeSelector={"zone": "z9"}))
    return found


def test_what_is_as_the_api_says_has_no_differences(world: World) -> None:
    assert world.pods["ours"]["spec"]["nodeName"]
    assert world.differences() == []


def test_nothing_is_left_when_everything_has_gone(world: World) -> None:
    for name in list(world.nodes):
        world.drop_node(name)
    for name in list(world.pods):
        world.drop_pod(name)
    assert world.differences() == []


def _never_told_of_a_node(world: World) -> None:
    world.have_node(node("n3"), told=False)


def _never_told_that_a_node_went(world: World) -> None:
    world.drop_pod("theirs")
    world.drop_node("n2", told=False)


def _never_told_of_a_size(world: World) -> None:
    world.have_node(node("n2", cpu="3"), told=False)


def _never_told_of_a_label(world: World) -> None:
    world.have_node(node("n1", zone="z2"), told=False)


def _never_told_of_a_taint(world: World) -> None:
    world.have_node(node("n1", zone="z1", taints=[{"key": "k", "effect": "NoSchedule"}]), told=False)


def _never_told_of_a_pod(world: World) -> None:
    world.have_pod(pod("new"), told=False)


def _never_told_of_a_pod_elsewhere(world: World) -> None:
    world.have_pod(pod("new", on="n1"), told=False)


def _never_told_that_a_pod_went(world: World) -> None:
    world.drop_pod("theirs", told=False)


def _never_told_that_one_took_another_s_place(world: World) -> None:
    world.have_pod(pod("theirs", on="n2", uid="another", schedulerName="somebody"), told=False)


def _never_told_that_a_pod_ended(world: World) -> None:
    world.have_pod(pod("theirs", on="n2", schedulerName="somebody", phase="Failed"), told=False)


def _never_told_that_a_gate_was_lifted(world: World) -> None:
    world.have_pod(pod("gated"), told=False)


def _never_told_of_a_gate(world: World) -> None:
    world.have_pod(pod("waits", schedulingGates=[{"name": "example.com/gate"}]), told=False)


def _bound_by_somebody_else(world: World) -> None:
    world.have_pod(pod("waits", on="n1", nodeSelector={"zone": "z9"}), told=False)


def _chosen_and_never_bound(world: World) -> None:
    world.have_pod(pod("late"))
    world.bind()
    world.pods["late"] = pod("late")


def _amounts_that_are_off(world: World) -> None:
    tables = world.engine._state.cluster.resources
    tables.allocated[tables.index[FOO], world.engine._state.cluster.rows["n2"]] += 1


def _a_task_of_nobody(world: World) -> None:
    state = world.engine._state
    state.cluster.place(TaskId(9999, 0), state.cluster.rows["n1"], state.cluster.resources.vector({"cpu": 1.0}))


def _forgotten_by_the_engine(world: World) -> None:
    del world.engine._state.work[world.tracker.pods["default", "waits"].id]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_never_told_of_a_node, ["node n3: is in the API, and the engine does not have it"]),
        (_never_told_that_a_node_went, ["node n2: is gone from the API, and the engine still has it"]),
        (_never_told_of_a_size, ["node n2 capacity: has "]),
        (_never_told_of_a_label, ["node n1 labels: differ in zone"]),
        (_never_told_of_a_taint, ["node n1 taints: differ"]),
        (_never_told_of_a_pod, ["pod default/new: waits for a node in the API, and the engine does not have it"]),
        (_never_told_of_a_pod_elsewhere, ["pod default/new: is on n1 in the API, and on no node here"]),
        (_never_told_that_a_pod_went, ["pod default/theirs: is gone from the API, and known here"]),
        (
            _never_told_that_one_took_another_s_place,
            ["pod default/theirs: is on n2 in the API, and on no node", "pod default/theirs: is gone from the API"],
        ),
        (_never_told_that_a_pod_ended, ["pod default/theirs: is gone from the API, and known here"]),
        (_never_told_that_a_gate_was_lifted, ["pod default/gated: waits for a node in the API, and the"]),
        (_never_told_of_a_gate, ["pod default/waits: is not ours to place now, and the engine has it"]),
        (_bound_by_somebody_else, ["pod default/waits: is on n1 in the API, and on no node here"]),
        (_chosen_and_never_bound, ["pod default/late: has no node in the API, and is on n"]),
        (_amounts_that_are_off, [f"node n2 {FOO}: 1 used in the API, 2 here"]),
        (_a_task_of_nobody, ["task 9999.0: holds capacity on n1, and no pod is behind it"]),
        (_forgotten_by_the_engine, ["pod default/waits: waits in the API, and the engine says nothing of it"]),
    ],
)  # fmt: skip
def test_each_kind_of_difference_is_said_once(world: World, spoil: Callable[[World], None], said: list[str]) -> None:
    spoil(world)
    found = world.differences()
    assert len(found) == len(said), found
    assert all(one.startswith(words) for one, words in zip(found, said, strict=True)), found
