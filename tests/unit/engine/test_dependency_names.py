"""From the names in `after` to workloads: whom a name means, circles, and what has ended already."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.engine.engine import Engine
from dovetail.engine.lifecycle.dependencies import CircularWait, in_order, names_outside, resolve
from dovetail.model.event import CancelAsked, NodeJoined, Submitted, TaskFinished, Tick
from dovetail.model.node import Node
from dovetail.model.task import TaskId, WorkloadState
from dovetail.model.workloads.workload import Condition, Workload


def work(name: str, *after: str, **fields: object) -> Workload:
    return Workload.model_validate({"name": name, "after": [{"workload": other} for other in after], **fields})


def one_node() -> Engine:
    engine = Engine()
    engine.handle(NodeJoined(Node.model_validate({"name": "n", "capacity": {"cpu": 8}})), 0.0)
    return engine


def test_those_that_are_waited_for_come_first_and_the_others_keep_their_order() -> None:
    specs = [work("d", "c"), work("a"), work("c", "b"), work("b"), work("e")]
    assert [specs[i].name for i in in_order(specs)] == ["b", "c", "d", "a", "e"]


def test_a_circle_is_told_with_every_name_in_it() -> None:
    specs = [work("x", "a"), work("a", "b"), work("b", "c"), work("c", "a")]
    with pytest.raises(CircularWait, match=r"a -> b -> c -> a$"):
        in_order(specs)


def test_the_same_names_in_other_namespaces_make_no_circle() -> None:
    assert in_order([work("a", "b"), work("b", "a", namespace="other")]) == [0, 1]


def test_a_chain_as_long_as_a_submission_is_put_in_order() -> None:
    specs = [work(f"w{i}", f"w{i + 1}") for i in range(4999)] + [work("w4999")]
    assert in_order(specs) == list(range(4999, -1, -1))


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=14))
def test_an_order_is_found_exactly_when_there_is_no_circle(edges: list[tuple[int, int]]) -> None:
    wanted = {i: {b for a, b in edges if a == i and a != b} for i in range(8)}
    specs = [work(f"w{i}", *(f"w{j}" for j in sorted(wanted[i]))) for i in range(8)]
    left = dict(wanted)
    while ready := [i for i, before in left.items() if not before & left.keys()]:
        for i in ready:
            del left[i]
    try:
        order = in_order(specs)
    except CircularWait:
        assert left
    else:
        assert not left
        place = {i: at for at, i in enumerate(order)}
        assert all(place[j] < place[i] for i, before in wanted.items() for j in before)


def test_names_that_come_together_need_not_be_looked_for() -> None:
    assert names_outside([work("a", "b", "z"), work("b")]) == {("default", "z")}


def test_live_work_is_waited_for_and_a_name_that_nobody_has_is_refused() -> None:
    engine = one_node()
    engine.handle(Submitted(7, work("a")), 0.0)
    after, unmet = resolve(engine._state, work("b", "a", "ghost"), {}, {}, 1.0)
    assert after == ((7, Condition.SUCCEEDED),)
    words = "no workload 'ghost' in namespace 'default'; submit it before, or in the same file"
    assert [(one.index, one.message) for one in unmet] == [(1, words)]


def test_who_comes_along_is_meant_before_who_is_there() -> None:
    engine = one_node()
    engine.handle(Submitted(7, work("a")), 0.0)
    after, _ = resolve(engine._state, work("b", "a"), {("default", "a"): 9}, {}, 1.0)
    assert after == ((9, Condition.SUCCEEDED),)


@pytest.mark.parametrize("taken", [True, False])
def test_work_that_has_just_ended_is_not_waited_for(taken: bool) -> None:
    """Also before the engine has handed over its end: whoever waited has been told by then."""
    engine = one_node()
    engine.handle(Submitted(7, work("a")), 0.0)
    engine.handle(Tick(10), 0.0)
    engine.handle(TaskFinished(TaskId(7, 0), "7.0.1", 0, "exit status 0"), 1.0)
    if taken:
        engine.take_changes(1.0)
    assert resolve(engine._state, work("b", "a"), {}, {}, 1.0) == ((), [])


def test_what_can_no_longer_succeed_is_refused_unless_only_its_end_matters() -> None:
    engine = one_node()
    engine.handle(Submitted(7, work("a")), 0.0)
    engine.handle(CancelAsked(7, "no longer wanted"), 1.0)
    engine.take_changes(1.0)
    _, unmet = resolve(engine._state, work("b", "a"), {}, {}, 2.0)
    assert unmet[0].message.startswith("a was cancelled (workload 7), so it can no longer succeed")
    relaxed = Workload.model_validate({"name": "b", "after": [{"workload": "a", "condition": "finished"}]})
    assert resolve(engine._state, relaxed, {}, {}, 2.0) == ((), [])


def test_what_the_engine_has_forgotten_the_store_remembers() -> None:
    engine = one_node()
    before = {("default", "old"): (3, WorkloadState.SUCCEEDED), ("default", "bad"): (4, WorkloadState.FAILED)}
    assert resolve(engine._state, work("b", "old"), {}, before, 1.0) == ((), [])
    _, unmet = resolve(engine._state, work("b", "bad"), {}, before, 1.0)
    assert "(workload 4)" in unmet[0].message


def test_named_twice_the_stricter_condition_counts() -> None:
    engine = one_node()
    engine.handle(Submitted(7, work("a")), 0.0)
    both = [{"workload": "a", "condition": "finished"}, {"workload": "a"}, {"workload": "a", "condition": "finished"}]
    spec = Workload.model_validate({"name": "b", "after": both})
    assert resolve(engine._state, spec, {}, {}, 1.0)[0] == ((7, Condition.SUCCEEDED),)
