"""Plans say what would happen: quotas first, gangs whole, and who would have to give way; nothing is changed."""

from typing import Any

import pytest
from tests.invariants import check_invariants

from dovetail.engine.engine import Engine
from dovetail.engine.pieces import whole
from dovetail.engine.planning import plan as planning
from dovetail.engine.planning.plan import Displacement, PlannedTask, within_quota
from dovetail.engine.settings import EngineSettings
from dovetail.model.event import NodeJoined, Submitted, TaskStarted, Tick
from dovetail.model.node import Node
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload

QUEUES = {
    "small": {"maximum": {"cpu": 6}},
    "owner": {"guaranteed": {"cpu": 8}},
    "guest": {},
}


def plan(engine: Any, spec: Workload, most: int, now: float) -> list[PlannedTask]:
    return whole(planning.plan(engine, spec, most, now))


def would_displace(engine: Any, spec: Workload, now: float) -> Displacement | None:
    return whole(planning.would_displace(engine, spec, now))


def work(name: str, **fields: Any) -> Workload:
    return Workload.model_validate({"name": name, "resources": {"cpu": 2}, **fields})


@pytest.fixture
def engine() -> Engine:
    engine = Engine(EngineSettings.model_validate({"queues": QUEUES}))
    for name in ("n1", "n2"):
        engine.handle(NodeJoined(Node.model_validate({"name": name, "capacity": {"cpu": 8}})), 0.0)
    return engine


def run(engine: Engine, id_: int, spec: Workload, now: float = 0.0) -> None:
    engine.handle(Submitted(id_, spec), now)
    engine.handle(Tick(1000), now)
    for replica, live in engine._state.work[id_].tasks.items():
        engine.handle(TaskStarted(TaskId(id_, replica), f"{id_}.{replica}.{live.attempt}"), now)


def placed(engine: Engine, spec: Workload, most: int = 1000) -> list[bool]:
    return [task.node is not None for task in plan(engine._state, spec, most, 0.0)]


def test_a_quota_ends_a_plan_before_room_does(engine: Engine) -> None:
    found = plan(engine._state, work("a", queue="small", replicas=5), 1000, 0.0)
    assert [task.node is not None for task in found] == [True, True, True, False]
    assert found[-1].explanation.outcome == "over_quota"
    assert found[-1].explanation.message == "queue small: cpu 6 of 6 in use, 2 asked"


@pytest.mark.parametrize("replicas", range(1, 12))
def test_a_plan_within_quotas_is_what_happens(engine: Engine, replicas: int) -> None:
    run(engine, 1, work("before", queue="small"))
    spec = work("a", queue="small", replicas=replicas)
    nodes = [task.node for task in plan(engine._state, spec, 1000, 0.0) if task.node is not None]
    run(engine, 2, spec)
    assert nodes == [live.node for live in engine._state.work[2].tasks.values() if live.node is not None]
    assert len(nodes) == min(replicas, 2)


def test_a_gang_is_planned_whole_or_not_at_all(engine: Engine) -> None:
    assert placed(engine, work("a", replicas=10, gang={"min": 8})) == [True] * 8 + [False]
    (refused,) = plan(engine._state, work("a", replicas=10, gang={"min": 9}), 1000, 0.0)
    assert refused.node is None
    assert refused.explanation.message.startswith("gang of 9: 8 have room; ")


def test_a_gang_over_its_quota_says_so_and_nothing_else(engine: Engine) -> None:
    (refused,) = plan(engine._state, work("a", queue="small", replicas=4, gang={"min": 4}), 1000, 0.0)
    assert refused.explanation.outcome == "over_quota"
    assert "it can never start" in refused.explanation.message


def test_only_as_many_tasks_are_planned_as_may_run_at_once(engine: Engine) -> None:
    assert placed(engine, work("a", replicas=100, concurrency=3)) == [True] * 3


@pytest.mark.parametrize("wanted", range(1, 9))
def test_a_quota_allows_as_many_as_fit_below_it(engine: Engine, wanted: int) -> None:
    allowed, over = within_quota(engine._state, work("a", queue="small"), wanted)
    assert allowed == min(wanted, 3)
    assert (over is None) == (wanted <= 3)


def test_urgent_work_is_told_whom_it_would_displace_and_what_they_would_lose(engine: Engine) -> None:
    run(engine, 1, work("nightly", priority="batch", replicas=4, resources={"cpu": 4}))
    before = dict(engine._state.cluster.placements.by_task)
    found = would_displace(engine._state, work("now", priority="high", resources={"cpu": 8}), 100.0)
    assert found is not None
    assert (found.tasks, len(found.victims)) == (1, 2)
    assert {victim.node for victim in found.victims} in ({"n1"}, {"n2"})
    assert [(victim.name, str(victim.priority), victim.lost_s) for victim in found.victims] == [
        ("nightly", "batch", 100.0)
    ] * 2
    assert engine._state.cluster.placements.by_task == before
    assert not engine._state.stopping
    check_invariants(engine._state.cluster)


def test_work_since_the_last_checkpoint_is_all_that_is_lost(engine: Engine) -> None:
    run(engine, 1, work("saves", priority="low", replicas=2, resources={"cpu": 8}, disruption={"checkpoint_every": 60}))
    found = would_displace(engine._state, work("now", priority="high"), 130.0)
    assert found is not None
    assert [victim.lost_s for victim in found.victims] == [10.0]


def test_work_that_fits_displaces_nobody_and_low_work_cannot(engine: Engine) -> None:
    run(engine, 1, work("nightly", priority="batch", replicas=2, resources={"cpu": 6}))
    assert would_displace(engine._state, work("fits", priority="high"), 1.0) is None
    assert would_displace(engine._state, work("low", priority="low", resources={"cpu": 8}), 1.0) is None
    assert would_displace(engine._state, work("vast", priority="critical", resources={"cpu": 9}), 1.0) is None


def test_a_queue_within_its_guarantee_takes_back_what_others_borrow(engine: Engine) -> None:
    run(engine, 1, work("guest", queue="guest", priority="high", replicas=8))
    found = would_displace(engine._state, work("mine", queue="owner", priority="low"), 1.0)
    assert found is not None
    assert [victim.name for victim in found.victims] == ["guest"]


def test_several_tasks_are_made_room_for_together_or_else_one(engine: Engine) -> None:
    run(engine, 1, work("kept", priority="critical", resources={"cpu": 8}))
    run(engine, 2, work("nightly", priority="batch", resources={"cpu": 8}))
    both = would_displace(engine._state, work("now", priority="high", replicas=2, resources={"cpu": 4}), 1.0)
    one = would_displace(engine._state, work("now", priority="high", replicas=2, resources={"cpu": 8}), 1.0)
    gang = would_displace(
        engine._state, work("now", priority="high", replicas=2, gang={"min": 2}, resources={"cpu": 8}), 1.0
    )
    assert both is not None
    assert one is not None
    assert (both.tasks, one.tasks, gang) == (2, 1, None)


def test_a_plan_gives_up_wishes_as_deciding_does(engine: Engine) -> None:
    wish = {"weight": 1, "priority": 1, "match": [{"key": "zone", "operator": "In", "values": ["nowhere"]}]}
    spec = work("a", node_affinity={"preferred": [wish]})
    (task,) = plan(engine._state, spec, 1000, 0.0)
    run(engine, 1, spec)
    assert task.node == engine._state.work[1].tasks[0].node
    assert any("gave up" in note for note in task.explanation.notes)
