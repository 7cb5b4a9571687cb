"""Nodes that go while a pod is on its way there: whatever order things are told in, in the end the API is right."""

from tests.invariants import check_invariants
from tests.unit.kubernetes.scheduler.world import World, node, pod

from dovetail.model.command import Bind
from dovetail.model.event import BindFailed


def on_its_way() -> tuple[World, Bind]:
    """A pod that was given a node, of which the API has not heard."""
    world = World()
    world.have_node(node("n1"))
    world.have_pod(pod("a"))
    (first,) = world.decide()
    return world, first


def test_a_pod_that_was_bound_to_a_node_that_has_gone_counts_nowhere_and_is_not_placed_again() -> None:
    world, first = on_its_way()
    world.drop_node("n1")
    world.is_bound(first)
    assert world.differences() == []
    world.have_node(node("n2"))
    assert world.decide() == []
    assert world.differences() == []


def test_it_counts_again_when_the_node_comes_back() -> None:
    world, first = on_its_way()
    world.drop_node("n1")
    world.is_bound(first)
    world.have_node(node("n1"))
    assert world.decide() == []
    assert world.differences() == []


def test_a_pod_whose_node_has_gone_is_bound_to_the_next_and_counts_there_once() -> None:
    world, first = on_its_way()
    world.drop_node("n1")
    world.have_node(node("n2"))
    (second,) = world.decide()
    world.tracker.not_bound(world.tracker.pods["default", "a"], first.key)  # it was late
    world.is_bound(second)
    assert world.differences() == []
    check_invariants(world.engine._state.cluster)
    world.drop_pod("a")
    assert world.differences() == []


def test_the_first_of_two_bindings_may_win_though_its_node_has_gone() -> None:
    world, first = on_its_way()
    world.drop_node("n1")
    world.have_node(node("n2"))
    (second,) = world.decide()
    assert second.node == "n2"
    world.is_bound(first)
    assert world.differences() == []
    check_invariants(world.engine._state.cluster)


def test_a_pod_that_goes_while_its_node_has_gone_leaves_nothing() -> None:
    world, _ = on_its_way()
    world.drop_node("n1")
    world.drop_pod("a")
    assert world.differences() == []
    world.have_node(node("n1"))
    assert world.decide() == []
    assert world.differences() == []


def test_what_changed_of_a_pod_while_it_was_on_its_way_counts_when_it_was_not_bound() -> None:
    world, first = on_its_way()
    changed = pod("a")
    changed["metadata"]["labels"] = {"colour": "red"}
    world.have_pod(changed)
    known = world.tracker.pods["default", "a"]
    world.tracker.not_bound(known, first.key)
    world.engine.handle(BindFailed(first.task, first.key, "refused"), 0.0)
    assert ("colour", "red") in world.engine._state.work[known.id].identity.labels
    assert world.differences() == []
    (second,) = world.decide()
    world.is_bound(second)
    assert world.differences() == []
