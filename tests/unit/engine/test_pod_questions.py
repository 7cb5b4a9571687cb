"""Questions about pods: answered by node name, in trials that leave nothing behind."""

from typing import Any

import numpy as np
from tests.unit.kubernetes.manifests import Little, app, node, pod

from dovetail.engine.questions.pod_answers import AssumedPod
from dovetail.kubernetes.checking.cluster_replica import ClusterReplica
from dovetail.kubernetes.objects.budgets import read_budgets
from dovetail.model.command import Stop
from dovetail.model.event import DisruptionBudgetsSet, Tick, WorkArrived
from dovetail.model.reason import Outcome
from dovetail.model.record import TaskRecord
from dovetail.model.task import TaskId, TaskState

NAMES = ["full", "free", "gone"]


def _world() -> ClusterReplica:
    return Little([node("full"), node("free")]).put("full", pod("a", {"app": "db"}, cpu="3", priority=0)).scene


def _books(scene: ClusterReplica) -> tuple[Any, ...]:
    cluster = scene.engine._state.cluster
    return dict(cluster.placements.by_task), cluster.resources.free.copy().tolist()


def test_every_node_that_is_asked_about_is_answered_once() -> None:
    scene = _world()
    found = scene.questions.pods.feasibility(scene.reader.read(pod(cpu="2")).query, NAMES)
    assert (found.feasible, found.unknown) == (["free"], ["gone"])
    assert [(one.nodes, one.eviction_helps) for one in found.refused] == [(["full"], True)]


def test_assumed_pods_take_room_and_leave_no_trace() -> None:
    scene = _world()
    query, before = scene.reader.read(pod(cpu="2")).query, _books(scene)
    with scene.questions.pods.assume([AssumedPod("free", query), AssumedPod("free", query), AssumedPod("gone", query)]):
        assert not scene.questions.pods.fits(query, "free")
        with scene.questions.pods.assume([AssumedPod("full", query)]):
            assert not scene.questions.pods.fits(query, "full")
    assert scene.questions.pods.fits(query, "free")
    assert _books(scene) == before


def test_a_pod_that_is_gone_in_a_trial_is_back_afterwards() -> None:
    scene = _world()
    query, before = scene.reader.read(pod(cpu="2")).query, _books(scene)
    with scene.questions.pods.without(list(scene.names)):
        assert scene.questions.pods.fits(query, "full")
        assert scene.questions.pods.placed_on("full") == []
    assert not scene.questions.pods.fits(query, "full")
    assert _books(scene) == before


def test_scores_and_refusals_name_nodes_and_say_which_rule_is_about() -> None:
    scene = _world()
    query = scene.reader.read(pod(cpu="2")).query
    scores = scene.questions.pods.scores(query, NAMES)
    assert set(scores.totals) == {"full", "free"}
    assert np.isfinite(list(scores.totals.values())).all()
    assert [one.refused.resource for one in scene.questions.pods.refusals(query, "full")] == ["cpu"]
    assert scene.questions.pods.refusals(query, "free") == []


def test_a_nomination_names_the_node_and_counts_budgets_that_are_overrun() -> None:
    scene = Little([node("n")]).put("n", pod("a", {"app": "db"}, cpu="3", priority=0)).scene
    query = scene.reader.read(pod(cpu="2", priority=10)).query
    meta = {"name": "b", "namespace": "default"}
    budget = {"metadata": meta, "spec": {"selector": app("db")}, "status": {"disruptionsAllowed": 0}}
    budgets = read_budgets([budget], scene.tasks)
    victim = scene.tasks["default", "a"]
    assert scene.questions.pods.nominate(query) == ("n", (victim,), 0)
    assert scene.questions.pods.nominate(query, budgets) == ("n", (victim,), 1)
    assert scene.questions.pods.victims_on(query, "n", budgets) == (victim,)
    assert scene.questions.pods.violations(query, "n", [victim], budgets) == 1
    assert scene.questions.pods.nominate(query, expected=[AssumedPod("n", query), AssumedPod("n", query)]) is None


def test_the_engine_keeps_within_budgets_that_an_event_brought() -> None:
    for protected in ("web", "db"):
        world = Little([node("m"), node("n")]).put("m", pod("a", {"app": "db"}, cpu="4", priority=0))
        scene = world.put("n", pod("b", {"app": "web"}, cpu="4", priority=0)).scene
        meta = {"name": "b", "namespace": "default"}
        budget = {"metadata": meta, "spec": {"selector": app(protected)}, "status": {"disruptionsAllowed": 0}}
        scene.engine.handle(DisruptionBudgetsSet(tuple(read_budgets([budget], scene.tasks))), scene.now)
        terms = scene.reader.read(pod(cpu="2", priority=10)).terms
        scene.engine.handle(WorkArrived(99, "default", "waits", 2, terms), scene.now)
        commands = scene.engine.handle(Tick(10), scene.now)
        (stop,) = [one for one in commands if isinstance(one, Stop)]
        assert scene.names[stop.task] == ("default", "a" if protected == "web" else "b")
        told = scene.questions.pods.task(stop.task)
        assert told is not None
        assert told.is_preempted
        assert scene.questions.pods.is_evicted(stop.task)
        assert scene.questions.pods.nominated_node(99) == scene.questions.pods.node_of(stop.task)


def test_only_a_task_that_is_told_to_stop_for_others_is_preempted() -> None:
    def record(state: TaskState, reason: str) -> TaskRecord:
        return TaskRecord(TaskId(1, 0), state, 1, "n", "b", reason, "", None, None, None, None)

    assert record(TaskState.STOPPING, Outcome.PREEMPTING).is_preempted
    assert not record(TaskState.STOPPING, "cancelling").is_preempted
    assert not record(TaskState.PENDING, Outcome.PREEMPTING).is_preempted
