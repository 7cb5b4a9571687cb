"""kube-scheduler may know of a change before us. Who was refused on the older view is nudged when we know it too."""

import asyncio

import httpx
import pytest
from tests.unit.kubernetes.extender.stage import Json, Stage, gang, waiting

from dovetail.kubernetes.extender.app import create_app
from dovetail.kubernetes.extender.refused_pods import CHANGED
from dovetail.kubernetes.extender.stale_refusals import REMEMBERED
from dovetail.kubernetes_client.reflector import ChangeKind, ObjectChange


@pytest.fixture
def stage() -> Stage:
    return Stage()


def nudged(stage: Stage) -> list[str]:
    """Who is nudged when the refusals are looked at again."""
    stage.nudged.clear()
    stage.extender.filter_verb.stale_refusals.recheck()
    assert {words for _, words in stage.nudged} <= {CHANGED}
    return [name for (_, name), _ in stage.nudged]


def full(stage: Stage) -> list[Json]:
    """The pods that fill all nodes."""
    pods = [waiting(f"on-{name}") for name in stage.names]
    for one, name in zip(pods, stage.names, strict=True):
        stage.bound(one, name)
    return pods


def test_a_gang_is_nudged_when_the_watch_reports_that_its_victims_are_gone(stage: Stage) -> None:
    stage.racks(1, 2, cpu="1")
    victims, pods = full(stage), gang("g", 2, priority=10)
    stage.seen(*pods)
    # They are gone: kube-scheduler knows it, and offers their nodes.
    for one, name in zip(pods, stage.names, strict=True):
        assert stage.passed(one, [name]) == []
    assert nudged(stage) == [], "nothing was reported since"
    stage.gone(victims[0])
    assert nudged(stage) == [], "not enough for all of it"
    stage.gone(victims[1])
    assert nudged(stage) == ["g-0", "g-1"]
    assert nudged(stage) == [], "once"
    assert {*stage.passed(pods[0]), *stage.passed(pods[1])} == {"r0n0", "r0n1"}


def test_a_single_pod_is_nudged_when_the_watch_reports_the_room_that_it_was_offered(stage: Stage) -> None:
    stage.racks(1, 2, cpu="1")
    there, one = full(stage), waiting("a")
    stage.seen(one)
    assert stage.passed(one, ["r0n1"]) == []
    stage.gone(there[0])
    assert nudged(stage) == [], "that node was not offered"
    stage.gone(there[1])
    assert nudged(stage) == ["a"]


def test_a_pod_is_nudged_when_the_watch_reports_the_node_that_it_was_offered(stage: Stage) -> None:
    one = waiting("a")
    stage.seen(one)
    assert stage.passed(one, ["new"]) == []
    stage.node("new")
    assert nudged(stage) == ["a"]


def test_a_pod_of_a_gang_is_nudged_when_the_watch_reports_it(stage: Stage) -> None:
    stage.racks(1, 1)
    (one,) = gang("g", 1)
    assert "watch" in stage.why(one)
    stage.seen(one)
    assert nudged(stage) == ["g-0"]


def test_pods_of_a_group_are_nudged_when_the_watch_reports_the_group(stage: Stage) -> None:
    stage.racks(1, 1)
    one = waiting("a", labels={"scheduling.x-k8s.io/pod-group": "g"})
    stage.seen(one)
    assert "PodGroup" in stage.why(one)
    stage.reported()
    assert nudged(stage) == []
    group = {"metadata": {"namespace": "default", "name": "g"}, "spec": {"minMember": 1}}
    stage.extender.informer.objects.pod_groups([ObjectChange(ChangeKind.ADDED, group)])
    stage.reported()
    stage.extender.filter_verb.refresh()
    assert nudged(stage) == ["a"]


def test_a_late_pod_of_a_gang_that_runs_is_nudged_only_for_room(stage: Stage) -> None:
    stage.racks(1, 1, cpu="1")
    first, late = gang("g", 2, least=1)
    stage.bound(first, "r0n0")
    stage.seen(late)
    assert stage.passed(late) == []
    stage.reported()
    assert nudged(stage) == []
    stage.node("r0n1", "r0", "1")
    assert nudged(stage) == [], "that node was not offered"


def test_who_is_bound_gone_or_replaced_is_not_nudged(stage: Stage) -> None:
    stage.node("full", cpu="1")
    (victim,) = full(stage)
    pods = [waiting(name) for name in ("bound", "gone")]
    stage.seen(*pods)
    for one in pods:
        assert stage.passed(one) == []
    stage.node("other")
    stage.bound(pods[0], "other")
    stage.gone(pods[1])
    stage.gone(victim)
    assert nudged(stage) == []


def test_only_the_latest_refusals_are_looked_at_again(stage: Stage) -> None:
    pods = [waiting(f"p-{i}") for i in range(REMEMBERED + 1)]
    stage.seen(*pods)
    for one in pods:
        assert stage.passed(one, ["new"]) == []
    stage.node("new")
    assert nudged(stage) == [one["metadata"]["name"] for one in pods[1:]]


def test_a_round_that_takes_long_goes_on_with_the_next(stage: Stage) -> None:
    pods = [waiting(f"p-{i}") for i in range(3)]
    stage.seen(*pods)
    for one in pods:
        assert stage.passed(one, ["new"]) == []
    stage.node("new")
    refusals = stage.extender.filter_verb.stale_refusals

    def slow_clock() -> float:
        stage.now += 1.0
        return stage.now

    refusals._now = slow_clock
    assert [nudged(stage) for _ in range(4)] == [["p-0"], ["p-1"], ["p-2"], []]


@pytest.mark.parametrize("verb", ["filter", "preempt"])
def test_a_question_about_a_gang_waits_until_the_watch_has_reported_the_pod(verb: str) -> None:
    """Otherwise nobody is evicted for it, and kube-scheduler has no reason to ask again."""
    stage = Stage(watch_patience_s=10)
    stage.racks(1, 2, cpu="1")
    if verb == "preempt":
        full(stage)
    pods = gang("g", 2, priority=10)
    stage.seen(pods[0])
    victims = {name: {"Pods": [{"UID": f"uid-on-{name}"}]} for name in stage.names}
    asked = {"Pod": pods[1], "NodeNames": stage.names, "NodeNameToMetaVictims": victims}

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(create_app(stage.extender))
        async with httpx.AsyncClient(transport=transport, base_url="http://extender") as client:
            answer = asyncio.create_task(client.post(f"/{verb}", json=asked))
            waiters = stage.extender.informer.changed._waiters
            while not waiters:
                assert not answer.done(), "it did not wait"
                await asyncio.sleep(0)
            stage.seen(pods[1])
            return await answer

    found = asyncio.run(ask()).json()
    nodes = found["NodeNames"] if verb == "filter" else found["NodeNameToMetaVictims"]
    assert set(nodes) <= {"r0n0", "r0n1"}
    assert nodes
