"""Gangs of a scheduler that asks pod by pod: all of them are planned before any is let go."""

import pytest
from tests.unit.kubernetes.extender.stage import Stage, gang, waiting

from dovetail.kubernetes.extender.gang_plans import STRIKES


@pytest.fixture
def stage() -> Stage:
    return Stage()


def where(stage: Stage, pods: list[dict[str, object]]) -> list[str]:
    """The one node that each is let go to."""
    found = [stage.passed(one) for one in pods]
    assert all(len(one) == 1 for one in found), found
    return [one[0] for one in found]


def test_a_gang_lies_in_one_rack_though_each_of_its_pods_would_fit_anywhere(stage: Stage) -> None:
    stage.racks(3, 4, cpu="2")
    pods = gang("g", 8)
    stage.seen(*pods)
    nodes = where(stage, pods)
    assert len({name[:2] for name in nodes}) == 1
    assert all(nodes.count(name) <= 2 for name in nodes)


def test_other_nodes_say_where_it_is_planned_and_the_planned_one_gets_all_points(stage: Stage) -> None:
    stage.racks(2, 2)
    pods = gang("g", 2)
    stage.seen(*pods)
    found = stage.filter(pods[0])
    assert found.node_names is not None
    (node,) = found.node_names
    assert set(found.failed_and_unresolvable_nodes.values()) == {f"its gang g is planned elsewhere: this pod on {node}"}
    assert stage.points(pods[0]) == {name: 10 * (name == node) for name in stage.names}


def test_an_incomplete_gang_goes_nowhere_and_starts_when_the_last_has_come(stage: Stage) -> None:
    stage.racks(2, 4)
    pods = gang("g", 4)
    stage.seen(*pods[:3])
    for one in pods[:3]:
        assert stage.why(one) == "waits for its gang g: 3 of the 4 pods that have to start together are there"
    stage.seen(pods[3])
    assert len(stage.passed(pods[3])) == 1
    assert [place for place, _ in stage.nudged] == [("default", f"g-{i}") for i in range(3)], "others were put aside"
    where(stage, pods)


def test_a_gang_that_does_not_fit_goes_nowhere_and_says_why(stage: Stage) -> None:
    stage.racks(2, 2, cpu="1")
    pods = gang("g", 4)
    stage.seen(*pods)
    assert "4 tasks" in stage.why(pods[0])
    assert len(stage.extender.filter_verb.held) == 0


def test_two_gangs_are_not_planned_on_the_same_room(stage: Stage) -> None:
    stage.racks(2, 2, cpu="2")
    one, two, three = gang("one", 4), gang("two", 4), gang("three", 4)
    stage.seen(*one, *two, *three)
    nodes = [*where(stage, one[:1]), *where(stage, two[:1])]
    assert {name[:2] for name in nodes} == {"r0", "r1"}
    assert "4 tasks" in stage.why(three[0]), "what is planned is taken"
    assert "too little cpu" in stage.why(waiting("single")), "for single pods too"


def test_what_is_only_planned_for_less_urgent_pods_is_in_nobodys_way(stage: Stage) -> None:
    stage.racks(1, 2, cpu="2")
    low = gang("low", 4, priority=1)
    stage.seen(*low)
    where(stage, low)
    urgent = waiting("urgent", cpu="2", priority=5)
    stage.seen(urgent)
    assert stage.passed(urgent) == ["r0n0", "r0n1"]
    stage.bound(urgent, "r0n0")
    assert "4 tasks" in stage.why(low[0]), "the plan fits no longer"


def test_a_plan_lapses_when_nobody_comes_back_for_it_and_who_waited_is_looked_at_again(stage: Stage) -> None:
    stage.racks(1, 2, cpu="2")
    one, two = gang("one", 4), gang("two", 4)
    stage.seen(*one, *two)
    where(stage, one)
    stage.why(two[0])
    stage.now += stage.extender.settings.keep_plan_s + 1
    where(stage, two)
    assert (("default", "two-0"), "capacity that was held for others is free again") in stage.nudged


def test_bound_pods_count_where_they_are_and_the_others_follow_their_plan(stage: Stage) -> None:
    stage.racks(3, 4, cpu="2")
    pods = gang("g", 8)
    stage.seen(*pods)
    nodes = where(stage, pods)
    for i, one in enumerate(pods):
        assert stage.passed(one) == [nodes[i]]
        stage.bound(one, nodes[i])
    stage.filter(waiting("later"))
    assert len(stage.extender.filter_verb.held) == 0


def test_after_a_restart_the_rest_of_a_gang_goes_to_the_rack_of_those_that_run(stage: Stage) -> None:
    stage.racks(3, 4, cpu="2")
    pods = gang("g", 8)
    for one in pods[:3]:
        stage.bound(one, "r2n1" if one is pods[2] else "r2n0")
    stage.seen(*pods[3:])
    assert {name[:2] for name in where(stage, pods[3:])} == {"r2"}


def test_a_node_that_goes_makes_another_plan(stage: Stage) -> None:
    stage.racks(2, 2, cpu="2")
    pods = gang("g", 4)
    stage.seen(*pods)
    before = where(stage, pods)
    stage.node_gone(before[0])
    stage.names.remove(before[0])
    after = where(stage, pods)
    assert {name[:2] for name in after} != {name[:2] for name in before}


def test_pods_that_ask_for_the_same_change_places(stage: Stage) -> None:
    stage.racks(1, 2, cpu="1")
    pods = gang("g", 2)
    stage.seen(*pods)
    (mine,) = stage.passed(pods[0])
    (other,) = {"r0n0", "r0n1"} - {mine}
    assert stage.passed(pods[0], [other]) == [other]
    assert stage.passed(pods[1]) == [mine]


def test_a_node_that_is_never_offered_is_planned_no_longer(stage: Stage) -> None:
    stage.racks(2, 1, cpu="4")
    pods = gang("g", 2)
    stage.seen(*pods)
    (planned,) = stage.passed(pods[0])
    (other,) = {"r0n0", "r1n0"} - {planned}
    for _ in range(STRIKES):
        assert stage.passed(pods[0], [other]) == []
    assert stage.passed(pods[0], [other]) == [other]


def test_those_beyond_the_least_come_along_where_there_is_room_and_later_where_there_is_not(stage: Stage) -> None:
    stage.racks(1, 2, cpu="2")
    pods = gang("g", 5, least=3)
    stage.seen(*pods)
    nodes = where(stage, pods[:3])
    assert "start first" in stage.why(pods[3])
    for one, node in zip(pods, nodes, strict=False):
        stage.bound(one, node)
    assert len(stage.passed(pods[3])) >= 1, "its gang has started"


def test_a_gang_that_nobody_describes_says_what_is_missing(stage: Stage) -> None:
    stage.racks(1, 1)
    one = waiting("a", labels={"scheduling.x-k8s.io/pod-group": "g"})
    stage.seen(one)
    assert "PodGroup" in stage.why(one)


def test_a_pod_of_a_gang_that_the_watch_has_not_told_of_goes_nowhere_yet(stage: Stage) -> None:
    stage.racks(1, 1)
    assert "watch" in stage.why(gang("g", 1)[0])


def test_a_gang_that_lost_a_pod_before_it_started_waits_for_another(stage: Stage) -> None:
    stage.racks(1, 4)
    pods = gang("g", 3)
    stage.seen(*pods)
    where(stage, pods)
    stage.gone(pods[0])
    assert "2 of the 3" in stage.why(pods[1])
    assert len(stage.extender.filter_verb.held) == 0


def test_a_node_that_is_offered_again_is_not_given_up(stage: Stage) -> None:
    stage.racks(2, 1, cpu="4")
    pods = gang("g", 2)
    stage.seen(*pods)
    (planned,) = stage.passed(pods[0])
    (other,) = {"r0n0", "r1n0"} - {planned}
    for _ in range(2 * STRIKES):
        assert stage.passed(pods[0], [other]) == []
        assert stage.passed(pods[0]) == [planned]


def test_a_pod_of_a_scheduler_that_is_not_served_is_told_so(stage: Stage) -> None:
    stage.racks(1, 1)
    one = gang("g", 1)[0]
    one["spec"]["schedulerName"] = "other"
    stage.seen(one)
    assert "other is not among the names" in stage.why(one)


def test_a_plan_fits_only_if_each_node_has_room_for_all_that_are_to_come_there(stage: Stage) -> None:
    stage.racks(1, 2, cpu="4")
    pods = gang("g", 4, cpu="2")
    stage.seen(*pods)
    where(stage, pods)
    stage.bound(waiting("other", cpu="1"), "r0n0")  # which still lets one of the two in
    assert "4 tasks" in stage.why(pods[0])


def test_the_first_pods_of_a_gang_get_to_know_what_the_last_was_told(stage: Stage) -> None:
    stage.racks(1, 2, cpu="1")
    pods = gang("g", 3)
    for one in pods:
        stage.seen(one)
        last = stage.why(one)
    assert "3 tasks" in last
    renew = stage.extender.refused_pods.renew
    renew()
    assert not stage.nudged, "others may come any moment"
    renew()
    assert stage.nudged == [(("default", "g-0"), last), (("default", "g-1"), last)]
    renew()
    renew()
    assert len(stage.nudged) == 2, "nobody is told twice"
