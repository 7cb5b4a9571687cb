"""Preemption in the engine: who may displace whom, what the victims are told, and who gets the room."""

from itertools import product
from typing import Any

import pytest
from tests.unit.engine.scene import Scene

from dovetail.model.event import NodeCordoned
from dovetail.model.workloads.workload import Priority

#: Critical may displace all others, high and medium what is below them, low and batch nobody.
MAY_DISPLACE = {
    "critical": {"high", "medium", "low", "batch"},
    "high": {"medium", "low", "batch"},
    "medium": {"low", "batch"},
    "low": set[str](),
    "batch": set[str](),
}


@pytest.mark.parametrize(("urgent", "running"), list(product(map(str, Priority), repeat=2)))
def test_who_may_displace_whom(urgent: str, running: str) -> None:
    scene = Scene()
    scene.join("n1", cpu=1)
    scene.run("running", priority=running)
    scene.submit("urgent", priority=urgent)
    assert scene.tick() == []
    assert bool(scene.stops) == (running in MAY_DISPLACE[urgent])
    assert scene.why("urgent")[0] == ("preempting" if scene.stops else "insufficient_resources")


def test_a_profile_may_have_it_switched_off() -> None:
    scene = Scene(profiles={"auto": {"preemption": False}})
    scene.join("n1", cpu=1)
    scene.run("running", priority="batch")
    scene.submit("urgent", priority="critical")
    scene.tick()
    assert scene.stops == []


def test_the_victim_is_told_by_whom_keeps_its_place_and_runs_again() -> None:
    scene = Scene()
    scene.join("n1", cpu=1)
    scene.run("victim", priority="batch")
    scene.now = 100.0
    scene.submit("younger", priority="batch")
    scene.submit("urgent", priority="high")
    scene.tick()
    (stop,) = scene.stops
    assert stop.reason == "preempted by urgent (workload 3)"
    assert scene.why("urgent") == ("preempting", "frees capacity for 1 task: waits for 1 task: victim.0")
    scene.stopped()
    assert scene.tick() == ["urgent.0"]
    assert scene.record("victim").state == "pending"
    scene.end("urgent")
    assert scene.tick() == ["victim.0"], "it came before the younger one"


def test_a_preempted_task_waits_with_the_reason_and_uses_up_no_retry() -> None:
    scene = Scene()
    scene.join("n1", cpu=1)
    scene.run("victim", priority="batch")
    scene.submit("urgent", priority="high")
    scene.tick()
    scene.stopped()
    (task,) = scene.notebook.tasks_of(1)
    assert (task.state, task.reason) == ("pending", "preempted")
    assert task.message == "preempted by urgent (workload 2)"
    assert task.failures == 0


def test_a_gang_that_must_give_way_goes_whole() -> None:
    scene = Scene()
    scene.join("n1", cpu=2)
    scene.join("n2", cpu=2)
    scene.run("gang", replicas=4, gang={"min": 4}, priority="batch")
    scene.submit("urgent", priority="high")
    scene.tick()
    assert len(scene.stopping()) == 4
    scene.stopped()
    assert scene.tick() == ["urgent.0"]
    assert scene.record("gang").pending == 4


def test_an_elastic_gang_gives_up_only_what_it_can_spare() -> None:
    scene = Scene()
    scene.join("n1", cpu=4)
    scene.run("gang", replicas=4, gang={"min": 2}, priority="batch")
    scene.submit("urgent", cpu=2, priority="high")
    scene.tick()
    assert len(scene.stopping()) == 2
    scene.stopped()
    assert scene.tick() == ["urgent.0"]
    assert len(scene.on("gang")) == 2


def test_the_less_urgent_goes_before_the_more_urgent() -> None:
    scene = Scene()
    scene.join("n1", cpu=2)
    scene.run("low", priority="low")
    scene.run("batch", priority="batch")
    scene.submit("urgent", priority="high")
    scene.tick()
    assert scene.stopping() == ["batch.0"]


def test_who_has_not_had_its_least_run_time_is_spared_if_another_will_do() -> None:
    scene = Scene()
    scene.join("n1", cpu=2)
    scene.run("settled", priority="batch")
    scene.run("young", priority="batch", disruption={"min_run_time": "1h"})
    scene.tick(600)
    scene.submit("urgent", priority="high")
    scene.tick()
    assert scene.stopping() == ["settled.0"]


def test_who_loses_least_work_since_its_last_checkpoint_goes() -> None:
    scene = Scene()
    scene.join("n1", cpu=2)
    scene.run("saving", priority="batch", disruption={"checkpoint_every": "10m"})
    scene.run("not-saving", priority="batch")
    scene.tick(3601)
    scene.submit("urgent", priority="high")
    scene.tick()
    assert scene.stopping() == ["saving.0"]


def test_a_disruption_budget_is_kept_if_others_can_go() -> None:
    scene = Scene()
    scene.join("n1", cpu=4)
    scene.run("budgeted", replicas=2, priority="batch", disruption={"max_unavailable": 1})
    scene.tick(1000)
    scene.run("others", replicas=2, priority="batch", disruption={"min_run_time": "1h"})
    scene.submit("urgent", cpu=2, priority="high")
    scene.tick()
    assert len([name for name in scene.stopping() if name.startswith("budgeted")]) <= 1


def test_what_may_not_be_disturbed_is_not() -> None:
    scene = Scene()
    scene.join("n1", cpu=1)
    scene.run("rigid", priority="batch", disruption={"allowed": False})
    scene.submit("urgent", priority="critical")
    scene.tick()
    assert scene.stops == []
    assert scene.why("urgent")[0] == "insufficient_resources"


def test_nobody_is_displaced_where_that_does_not_help() -> None:
    scene = Scene()
    scene.join("n1", cpu=2)
    scene.run("small", priority="batch")
    scene.submit("huge", cpu=3, priority="critical")
    scene.submit("elsewhere", cpu=2, priority="critical", node_selector={"disk": "nvme"})
    scene.tick()
    assert scene.stops == []


def test_a_whole_gang_makes_room_for_itself_at_once() -> None:
    scene = Scene()
    for number in range(3):
        scene.join(f"n{number}", cpu=2)
    scene.run("filler", replicas=6, priority="batch")
    scene.submit("gang", cpu=2, replicas=2, gang={"min": 2}, priority="high")
    scene.tick()
    assert len(scene.stopping()) == 4
    assert scene.why("gang")[1].startswith("frees capacity for 2 tasks: waits for 4 tasks: ")
    first, *others = [task for task, _ in scene._tasks("filler") if scene.work("filler").tasks[task.replica].node]
    assert first not in others
    scene.stopped()
    assert sorted(scene.tick()) == ["gang.0", "gang.1"]


@pytest.mark.parametrize("gang", [{}, {"gang": {"min": 2}, "replicas": 2}], ids=["alone", "gang"])
@pytest.mark.parametrize("others", [{"disruption": {"allowed": False}}, {"priority": "critical"}])
def test_what_it_may_not_displace_ends_and_it_displaces_the_rest(gang: dict[str, Any], others: dict[str, Any]) -> None:
    scene = Scene()
    scene.join("n1", cpu=4)
    scene.join("n2", cpu=4)
    scene.run("steady", cpu=1, replicas=2, **others)
    scene.run("bulk", cpu=2, replicas=2, priority="low")
    scene.submit("urgent", cpu=4, priority="high", **gang)
    scene.tick()
    assert scene.stopping() == []
    scene.end_all("steady")
    scene.tick(1)
    assert scene.stopping() == (["bulk.0", "bulk.1"] if gang else ["bulk.0"])


def test_a_node_that_comes_back_is_cleared_for_urgent_work() -> None:
    scene = Scene()
    scene.join("n1", cpu=4)
    scene.run("bulk", cpu=2, priority="low")
    scene.hear(NodeCordoned("n1", True, "repair"))
    scene.submit("urgent", cpu=4, priority="high")
    scene.tick()
    assert scene.stopping() == []
    scene.hear(NodeCordoned("n1", False, ""))
    scene.tick()
    assert scene.stopping() == ["bulk.0"]
