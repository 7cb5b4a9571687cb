"""Questions give the engine's own answers and leave no trace."""

import copy

import numpy as np
import pytest
from tests.invariants import check_invariants

from dovetail.engine.engine import Engine
from dovetail.engine.pieces import whole
from dovetail.engine.questions.questions import Questions
from dovetail.engine.settings import EngineSettings
from dovetail.model.event import NodeCordoned, NodeJoined, Submitted, Tick
from dovetail.model.node import Node
from dovetail.model.workloads.workload import Workload


def workload(**fields: object) -> Workload:
    return Workload.model_validate({"name": "w", **fields})


@pytest.fixture
def engine() -> Engine:
    engine = Engine()
    for i in range(4):
        capacity = {"cpu": 4 + 4 * i, "memory": "16GiB", "slots": 10}
        labels = {"zone": "a" if i < 2 else "b"}
        engine.handle(NodeJoined(Node.model_validate({"name": f"n{i}", "capacity": capacity, "labels": labels})), 0)
    return engine


def test_a_plan_is_what_would_happen(engine: Engine) -> None:
    spec = workload(resources={"cpu": 2}, replicas=6)
    planned = [task.node for task in whole(Questions(engine).plans.plan(spec))]
    engine.handle(Submitted(1, spec), 0)
    engine.handle(Tick(100), 1)
    assert planned == [engine._state.work[1].tasks[i].node for i in range(6)]


@pytest.mark.parametrize("profile", ["balanced", "round_robin", "random", "best_fit", "network"])
def test_planning_changes_nothing(engine: Engine, profile: str) -> None:
    tables = engine._state.cluster.resources
    before = copy.deepcopy((tables.allocated, tables.free, tables.load, tables.unseen))
    cursor = engine._state.pipelines[profile].cursor
    whole(Questions(engine).plans.plan(workload(resources={"cpu": 2}, replicas=9, profile=profile, service="s")))
    for was, now in zip(before, (tables.allocated, tables.free, tables.load, tables.unseen), strict=True):
        assert np.array_equal(was, now)
    assert engine._state.pipelines[profile].cursor == cursor
    assert not engine._state.cluster.placements.by_task
    check_invariants(engine._state.cluster)


def test_a_plan_that_runs_out_of_room_says_where_it_stopped(engine: Engine) -> None:
    planned = whole(Questions(engine).plans.plan(workload(resources={"cpu": 8}, replicas=10)))
    assert [task.node is not None for task in planned] == [True, True, True, True, False]
    assert planned[-1].explanation.outcome == "insufficient_resources"


def test_capacity_is_exactly_how_many_more_can_be_placed(engine: Engine) -> None:
    questions = Questions(engine)
    spec = workload(resources={"cpu": 3, "memory": "2GiB"}, replicas=1000)
    room = whole(questions.plans.capacity(spec))
    assert room.total == sum(task.node is not None for task in whole(questions.plans.plan(spec))) == 1 + 2 + 4 + 5
    assert room.by_node[0] == ("n3", 5)


def test_why_not_names_every_filter_that_refuses(engine: Engine) -> None:
    engine.handle(NodeCordoned("n0", True, "upgrade"), 0)
    questions = Questions(engine)
    shape = questions.plans.shape(workload(resources={"cpu": 6}, node_selector={"zone": "b"}))
    answer = questions.explanations.why_not(shape, "n0")
    assert [refused.filter for refused in answer.refusals] == ["ready", "node_selector", "resources"]
    assert answer.rank is None
    assert answer.best_node in ("n2", "n3")


def test_why_not_gives_a_rank_where_the_node_would_do(engine: Engine) -> None:
    questions = Questions(engine)
    shape = questions.plans.shape(workload(resources={"cpu": 1}))
    ranks = {questions.explanations.why_not(shape, f"n{i}").rank for i in range(4)}
    assert ranks == {1, 2, 3, 4}
    best = next(f"n{i}" for i in range(4) if questions.explanations.why_not(shape, f"n{i}").rank == 1)
    assert whole(questions.plans.plan(workload(resources={"cpu": 1})))[0].node == best


def test_a_node_is_described_in_numbers(engine: Engine) -> None:
    engine.handle(Submitted(1, workload(resources={"cpu": 2}, node_selector={"zone": "a"})), 0)
    engine.handle(Tick(10), 0)
    used = [Questions(engine).nodes.use(name) for name in ("n0", "n1")]
    assert sum(use.tasks for use in used) == 1
    assert sum(use.allocated.get("cpu", 0) for use in used) == 2000
    assert {use.status for use in used} == {"online"}


def test_overcommit_counts_in_capacity() -> None:
    engine = Engine(EngineSettings(overcommit={"cpu": 2.0}))
    engine.handle(NodeJoined(Node.model_validate({"name": "n", "capacity": {"cpu": 4, "memory": "1GiB"}})), 0)
    assert whole(Questions(engine).plans.capacity(workload(resources={"cpu": 1}))).total == 8


def test_capacity_names_every_node_that_has_some() -> None:
    engine = Engine()
    for i in range(158):
        engine.handle(NodeJoined(Node.model_validate({"name": f"n{i}", "capacity": {"cpu": 2, "memory": "1GiB"}})), 0)
    found = whole(Questions(engine).plans.capacity(workload(resources={"cpu": 1})))
    assert (found.total, len(found.by_node)) == (316, 158)
