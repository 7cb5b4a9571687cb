"""Polling questions starts nothing: no search for replacements, no judging of rules, no victims chosen otherwise."""

from typing import Any

import pytest
from tests.unit.engine.scene import Scene
from tests.unit.engine.test_policy_adjustments import Town, rule
from tests.unit.engine.test_recovery import IN_ONE_LEAF, run_gang, scene_of

from dovetail.engine.pieces import whole
from dovetail.engine.planning.plan import plan
from dovetail.engine.questions.plan_questions import KEPT_S
from dovetail.engine.questions.questions import Questions
from dovetail.engine.recovery import recovery
from dovetail.engine.recovery.planning import plan_and_execute
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.command import Command
from dovetail.model.event import TopologySet
from dovetail.model.network.topology import Topology
from dovetail.model.workloads.workload import Workload


def spec_of(**fields: Any) -> Workload:
    return Workload.model_validate({"name": "planned", "resources": {"cpu": 1}, **fields})


def test_polling_plan_beside_a_broken_gang_starts_no_search_for_replacements(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = scene_of({"a": 3, "b": 2}, hold="2m")
    run_gang(scene, topology=IN_ONE_LEAF)
    scene.leave("a1")
    assert scene.work("train").recovery is not None, "no other node of the leaf can replace it: it waits"
    scene.tick(1.0)
    searches: list[float] = []

    def counted(state: EngineState, now: float, only: set[int] | None = None) -> list[Command]:
        searches.append(now)
        return plan_and_execute(state, now, only)

    monkeypatch.setattr(recovery, "plan_and_execute", counted)
    questions = Questions(scene.engine)
    for _ in range(48):
        assert whole(questions.plans.plan(spec_of(replicas=3), now=scene.now))[0].node is not None
        assert not scene.engine.busy
        scene.tick(1.0)
    assert searches == []
    scene.join("a3", 4, labels={"leaf": "a"})
    scene.tick(1.0)
    assert searches, "a node that joins is a reason to search"
    assert len(scene.on("train")) == 3


def test_polling_questions_judges_no_rule_again() -> None:
    town = Town()
    town.put(**rule(off=True))
    town.tick(2.0)
    before, questions = town.engine._state.policies.evaluated_at, Questions(town.engine)
    for _ in range(5):
        whole(questions.plans.plan(spec_of(replicas=2), now=town.now))
        whole(questions.plans.impasse(spec_of(resources={"cpu": 11}), now=town.now))
        town.tick(2.0)
    assert town.engine._state.policies.evaluated_at == before


def test_suggesting_to_uncordon_a_node_leaves_its_reason_and_its_drain() -> None:
    scene = Scene()
    scene.join("n1", 4)
    cluster = scene.engine._state.cluster
    cluster.set_cordoned("n1", True, "disk")
    cluster.status.drained.add("n1")
    changes, log = cluster.changes, {group: len(rows) for group, rows in cluster.log.items()}
    with cluster.trial():
        cluster.set_cordoned("n1", False)
        assert cluster.status.ready[0]
    assert (cluster.status.reason("n1"), cluster.status.drained, bool(cluster.status.ready[0])) == (
        "disk",
        {"n1"},
        False,
    )
    assert (cluster.changes, {group: len(rows) for group, rows in cluster.log.items()}) == (changes, log)


def test_what_was_computed_in_a_trial_is_not_taken_for_what_comes_after_it() -> None:
    """States are numbered, and no number is given twice: a cache that was filled in a trial does not match later."""
    scene = Scene()
    scene.join("n1", 4)
    cluster, seen = scene.engine._state.cluster, set[int]()
    for _ in range(3):
        with cluster.trial():
            cluster.reserve("n1", {"cpu": 1000})
            assert cluster.changes not in seen
            seen.add(cluster.changes)
    cluster.reserve("n1", {"cpu": 1000})
    assert cluster.changes not in seen


def test_an_answer_is_kept_while_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    scene.join("n1", 4)
    asked: list[float] = []

    def counted(*args: Any) -> Any:
        asked.append(args[3])
        return plan(*args)

    monkeypatch.setattr("dovetail.engine.questions.plan_questions.plan", counted)
    questions, spec = Questions(scene.engine), spec_of(replicas=2)
    for now in (0.0, 1.0, KEPT_S - 0.1):
        assert len(whole(questions.plans.plan(spec, now=now))) == 2
    assert asked == [0.0]
    whole(questions.plans.plan(spec.model_copy(update={"replicas": 3}), now=1.0))
    assert asked == [0.0, 1.0], "another question"
    whole(questions.plans.plan(spec, now=KEPT_S))
    assert asked == [0.0, 1.0, KEPT_S], "too old"
    scene.hear(TopologySet(Topology()))
    whole(questions.plans.plan(spec, now=KEPT_S))
    assert len(asked) == 4, "something happened"


def test_asking_about_a_group_does_not_change_what_work_alike_is_told() -> None:
    scene = Scene()
    scene.join("n1", 4)
    scene.submit("waits", 8, replicas=2)
    scene.tick()
    told = scene.why("waits")
    questions = Questions(scene.engine)
    alike = spec_of(resources={"cpu": 8}, replicas=2)
    whole(questions.plans.plan_group([alike, spec_of(name="beside")], 10, scene.now))
    scene.submit("waits-too", 8, replicas=2)
    scene.tick()
    assert scene.why("waits-too") == told
