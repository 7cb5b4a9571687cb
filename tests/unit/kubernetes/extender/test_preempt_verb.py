"""Victims: nobody is deleted in vain, and disruption budgets are counted as kube-scheduler counts them."""

import json

import pytest
from tests.unit.kubernetes.extender.stage import Stage, gang, waiting
from tests.unit.kubernetes.manifests import apart, app


@pytest.fixture
def stage() -> Stage:
    return Stage()


def put(stage: Stage, node: str, *names: str, cpu: str = "1", priority: int = 0, app_name: str = "") -> None:
    for name in names:
        labels = {"app": app_name or name}
        stage.bound(waiting(name, cpu=cpu, labels=labels, priority=priority), node)


def test_victims_that_will_do_are_left_as_they_were_proposed(stage: Stage) -> None:
    stage.node("n1", cpu="2")
    put(stage, "n1", "a", "b")
    urgent = waiting("urgent", priority=10)
    assert stage.preempt(urgent, n1=["uid-b"]) == {"n1": (["uid-b"], 0)}


def test_a_node_where_they_would_go_in_vain_is_dropped(stage: Stage) -> None:
    stage.node("fast", cpu="1", labels={"disk": "ssd"})
    stage.node("slow", cpu="1", labels={"disk": "hdd"})
    put(stage, "fast", "a")
    put(stage, "slow", "b")
    asks = {"constraints": json.dumps([{"require": 'node.labels.disk == "ssd"'}])}
    urgent = waiting("urgent", priority=10, asks=asks)
    assert stage.preempt(urgent, fast=["uid-a"], slow=["uid-b"], new=["uid-c"]) == {"fast": (["uid-a"], 0)}


def test_victims_are_added_where_our_rules_take_more(stage: Stage) -> None:
    stage.node("n1", cpu="4")
    put(stage, "n1", "a", "web", cpu="2")
    asks = {"constraints": json.dumps([{"require": "node.free.cpu >= 4"}])}
    urgent = waiting("urgent", priority=10, cpu="2", asks=asks)
    found = stage.preempt(urgent, n1=["uid-a"])
    assert sorted(found["n1"][0]) == ["uid-a", "uid-web"]


def test_victims_that_are_added_count_against_budgets(stage: Stage) -> None:
    stage.node("n1", cpu="2")
    stage.budget(1, app="web")
    put(stage, "n1", "a", "b", app_name="web")
    urgent = waiting("urgent", priority=10, affinity=apart("kubernetes.io/hostname", app("web")))
    found = stage.preempt(urgent, n1=["uid-a"])
    assert (sorted(found["n1"][0]), found["n1"][1]) == (["uid-a", "uid-b"], 1)


def test_who_is_as_urgent_is_never_added(stage: Stage) -> None:
    stage.node("n1", cpu="2")
    put(stage, "n1", "a")
    put(stage, "n1", "b", priority=10, app_name="web")
    urgent = waiting("urgent", priority=10, affinity=apart("kubernetes.io/hostname", app("web")))
    assert stage.preempt(urgent, n1=["uid-a"]) == {}


def test_a_victim_that_the_watch_has_not_told_of_stays_one(stage: Stage) -> None:
    stage.node("n1", cpu="2")
    assert stage.preempt(waiting("urgent", priority=10), n1=["uid-new"]) == {"n1": (["uid-new"], 0)}


def test_nobody_is_deleted_for_a_gang_that_would_not_fit_even_then(stage: Stage) -> None:
    stage.racks(2, 2, cpu="1")
    for name in stage.names:
        put(stage, name, f"on-{name}")
    pods = gang("g", 3, priority=10)
    stage.seen(*pods)
    assert stage.preempt(pods[0], **{name: [f"uid-on-{name}"] for name in stage.names}) == {}


def test_for_a_gang_only_where_all_of_it_would_lie(stage: Stage) -> None:
    stage.racks(2, 2, cpu="1")
    for name in stage.names:
        put(stage, name, f"on-{name}", priority=20 if name == "r0n0" else 0)
    pods = gang("g", 2, priority=10)
    stage.seen(*pods)
    victims = {name: [f"uid-on-{name}"] for name in stage.names if name != "r0n0"}
    assert sorted(stage.preempt(pods[0], **victims)) == ["r1n0", "r1n1"]


def test_nobody_is_deleted_for_a_gang_that_is_incomplete(stage: Stage) -> None:
    stage.racks(1, 2, cpu="1")
    put(stage, "r0n0", "a")
    pods = gang("g", 2, priority=10)
    stage.seen(pods[0])
    assert stage.preempt(pods[0], r0n0=["uid-a"]) == {}


def test_room_for_a_gang_is_made_in_one_place_though_its_pods_ask_one_by_one(stage: Stage) -> None:
    stage.racks(2, 2, cpu="1")
    for name in stage.names:
        put(stage, name, f"on-{name}", priority=20 if name == "r0n0" else 0)
    pods = gang("g", 2, priority=10)
    stage.seen(*pods)
    victims = {name: [f"uid-on-{name}"] for name in ("r0n1", "r1n0", "r1n1")}
    assert sorted(stage.preempt(pods[0], **victims)) == ["r1n0", "r1n1"]
    # It is nominated to r1n1: that node is proposed no more. By now the other rack would have as much room.
    stage.gone(waiting("on-r0n0"))
    del victims["r1n1"]
    assert list(stage.preempt(pods[1], **victims)) == ["r1n0"]
