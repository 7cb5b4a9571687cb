"""Filter and prioritize: the engine's own filters and scores, over the nodes that were asked about."""

import json

import numpy as np
import pytest
from tests.unit.kubernetes.extender.stage import RACK, Stage, waiting
from tests.unit.kubernetes.manifests import apart, app

from dovetail.kubernetes.extender.filter_verb import UNKNOWN_NODE, scaled
from dovetail.kubernetes.extender.held_pods import held_pod
from dovetail.kubernetes.extender.wire import ExtenderArgs

SSD = {"constraints": json.dumps([{"require": 'node.labels.disk == "ssd"'}])}


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_only_nodes_that_were_asked_about_are_answered(stage: Stage) -> None:
    for name in ("n1", "n2", "n3"):
        stage.node(name)
    assert stage.passed(waiting("a"), ["n3", "n1"]) == ["n3", "n1"]


def test_a_node_that_an_annotation_refuses_fails_for_good(stage: Stage) -> None:
    stage.node("fast", labels={"disk": "ssd"})
    stage.node("slow", labels={"disk": "hdd"})
    found = stage.filter(waiting("a", asks=SSD))
    assert found.node_names == ["fast"]
    assert found.failed_and_unresolvable_nodes == {"slow": 'does not satisfy node.labels.disk == "ssd"'}


def test_a_full_node_fails_as_one_that_others_could_leave(stage: Stage) -> None:
    stage.node("small", cpu="1")
    stage.node("full", cpu="2")
    stage.node("free", cpu="2")
    stage.bound(waiting("b", cpu="2"), "full")
    found = stage.filter(waiting("a", cpu="2"))
    assert found.node_names == ["free"]
    assert found.failed_nodes == {"full": "too little cpu free"}
    assert found.failed_and_unresolvable_nodes == {"small": "never has enough cpu"}


def test_every_filter_gives_its_reason_and_every_node_gets_one(stage: Stage) -> None:
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    stage.node("tainted", taints=[taint])
    stage.node("marked", unschedulable=True)
    stage.node("crowded")
    stage.node("free")
    stage.bound(waiting("b", labels={"app": "web"}), "crowded")
    found = stage.filter(waiting("a", labels={"app": "web"}, affinity=apart("kubernetes.io/hostname", app("web"))))
    assert found.node_names == ["free"]
    assert set(found.failed_and_unresolvable_nodes) == {"tainted", "marked"}
    assert "gpu" in found.failed_and_unresolvable_nodes["tainted"]
    assert list(found.failed_nodes) == ["crowded"]


def test_nodes_come_back_whole_if_they_came_whole(stage: Stage) -> None:
    stage.node("n1", cpu="1")
    stage.node("n2", cpu="4")
    items = [{"metadata": {"name": name}, "spec": {"providerID": name}} for name in ("n1", "n2")]
    args = ExtenderArgs.model_validate({"Pod": waiting("a", cpu="2"), "Nodes": {"metadata": {}, "items": items}})
    found = stage.extender.filter_verb.filter(args)
    assert found.node_names is None
    assert found.nodes is not None
    assert found.nodes.items == [items[1]]


def test_a_node_that_nobody_told_of_fails_and_the_others_keep_their_points(stage: Stage) -> None:
    stage.node("n1")
    stage.node("n2")
    names = ["new", "n2", "newer", "n1"]
    found = stage.filter(waiting("a"), names)
    assert found.node_names == ["n2", "n1"]
    assert found.failed_and_unresolvable_nodes == dict.fromkeys(["new", "newer"], UNKNOWN_NODE)
    assert stage.points(waiting("a"), names) == {"new": 0, "n2": 10, "newer": 0, "n1": 10}


def test_the_pod_counts_as_it_was_sent_though_the_watch_told_of_another(stage: Stage) -> None:
    stage.node("n1", cpu="2")
    stage.seen(waiting("a", cpu="8"))
    assert stage.passed(waiting("a", cpu="2")) == ["n1"]


def test_a_pod_that_cannot_be_read_is_refused_by_every_node_in_words(stage: Stage) -> None:
    stage.node("n1")
    assert "gang-min" in stage.why(waiting("a", asks={"gang": "g"}))
    nonsense = waiting("b")
    nonsense["spec"]["containers"] = [{"name": "c", "resources": {"requests": {"cpu": "many"}}}]
    assert stage.why(nonsense).startswith("cannot be read as a pod")


def test_a_pod_that_is_being_bound_counts_until_the_watch_tells_of_it_and_no_longer(stage: Stage) -> None:
    stage.node("n1", cpu="2")
    first, second = waiting("a", cpu="2"), waiting("b", cpu="2")
    stage.seen(first, second)
    known = stage.extender.informer.tracker.pods["default", "a"]
    kept = held_pod(known, "n1", 0.0, stage.now + 10)
    kept.binding = True
    stage.extender.filter_verb.held.keep(kept)
    assert stage.passed(second) == []
    assert stage.passed(first) == ["n1"], "it is not in its own way"
    stage.bound(first, "n1")
    assert stage.passed(second) == []
    assert len(stage.extender.filter_verb.held) == 0
    stage.gone(first)
    assert stage.passed(second) == ["n1"]


def test_the_best_node_gets_ten_points_and_the_worst_none() -> None:
    weights = [40.0, 30.0]
    assert scaled(np.array([70.0, 35.0, 0.0]), weights).tolist() == [10, 5, 0]
    assert scaled(np.array([50.0, 50.0]), weights).tolist() == [10, 10]
    assert scaled(np.array([50.0, 49.9]), weights).tolist() == [10, 10], "hardly any difference makes hardly any"
    assert scaled(np.array([]), weights).tolist() == []
    assert scaled(np.array([0.0, 0.0]), []).tolist() == [10, 10]


def test_points_follow_the_profile(stage: Stage) -> None:
    packed = Stage(names={"default-scheduler": "best_fit"})
    for one in (stage, packed):
        one.node("busy")
        one.node("idle")
        one.bound(waiting("b", cpu="3"), "busy")
    assert stage.points(waiting("a")) == {"busy": 0, "idle": 10}
    assert packed.points(waiting("a"))["busy"] == 10


def test_the_engine_is_left_as_it_is(stage: Stage) -> None:
    stage.node("n1", "r1")
    stage.bound(waiting("b"), "n1")
    cluster = stage.extender.engine._state.cluster
    before = cluster.resources.allocated.copy(), dict(cluster.placements.by_task)
    stage.seen(waiting("a"))
    stage.filter(waiting("a", asks={"topology": f"preferred: {RACK}"}))
    stage.points(waiting("a"))
    assert (cluster.resources.allocated == before[0]).all()
    assert dict(cluster.placements.by_task) == before[1]
