"""The ledger: the engine holds exactly the pods that count, whatever order things are told in."""

from typing import Any

import pytest

from dovetail.cluster.invariants import check_invariants
from dovetail.engine.engine import Engine
from dovetail.kubernetes.nodes import read_node
from dovetail.kubernetes.pods import PodReader
from dovetail.kubernetes.scheduler.ledger import Ledger
from dovetail.kubernetes.scheduler.settings import DEFAULT_NAME, KubernetesSchedulerSettings, line_of
from dovetail.model.command import Bind
from dovetail.model.event import NodeJoined, Tick

CORE = 1000.0


class Stage:
    def __init__(self) -> None:
        self.engine = Engine(KubernetesSchedulerSettings().engine())
        self.ledger = Ledger(self.engine, {DEFAULT_NAME: PodReader(line_of(DEFAULT_NAME))}, lambda: 0.0)

    def node(self, name: str, cpu: str = "4") -> None:
        amounts = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
        node = {"metadata": {"name": name}, "status": {"allocatable": amounts}}
        self.engine.handle(NodeJoined(read_node(node)), 0.0)
        self.ledger.node_came(name)

    def decide(self) -> list[Bind]:
        found = [one for one in self.engine.handle(Tick(100), 0.0) if isinstance(one, Bind)]
        for bind in found:
            self.ledger.chose(bind.task, bind.node)
        self.engine.take_decisions(0.0)
        check_invariants(self.engine.state.cluster)
        return found

    @property
    def taken(self) -> float:
        """Cores that pods hold."""
        tables = self.engine.state.cluster.resources
        return float(tables.allocated[tables.index["cpu"]].sum()) / CORE


def pod(name: str, node: str = "", uid: str = "", phase: str = "Pending", **more: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    spec = {"schedulerName": DEFAULT_NAME, "containers": [container], **more}
    about = {"namespace": "default", "name": name, "uid": uid or f"uid of {name}"}
    return {"metadata": about, "spec": spec | ({"nodeName": node} if node else {}), "status": {"phase": phase}}


@pytest.fixture
def stage() -> Stage:
    found = Stage()
    found.node("n1")
    return found


def test_a_pod_that_waits_is_placed_and_counts_once_when_the_watch_says_so_too(stage: Stage) -> None:
    stage.ledger.seen(pod("a"))
    (bind,) = stage.decide()
    assert (bind.node, stage.taken) == ("n1", 1)
    stage.ledger.seen(pod("a", "n1"))
    assert stage.decide() == []
    assert stage.taken == 1
    stage.ledger.gone(("default", "a"))
    assert stage.taken == 0
    stage.decide()
    assert not stage.engine.state.work


def test_a_pod_that_somebody_else_bound_meanwhile_counts_where_it_is(stage: Stage) -> None:
    stage.node("n2")
    stage.ledger.seen(pod("a"))
    (bind,) = stage.decide()
    other = "n2" if bind.node == "n1" else "n1"
    stage.ledger.seen(pod("a", other))
    stage.decide()
    cluster = stage.engine.state.cluster
    assert len(cluster.placements.by_row[cluster.rows[other]]) == 1
    assert stage.taken == 1


def test_finished_pods_hold_nothing(stage: Stage) -> None:
    stage.ledger.seen(pod("a", "n1", phase="Running"))
    assert stage.taken == 1
    stage.ledger.seen(pod("a", "n1", phase="Succeeded"))
    assert stage.taken == 0


def test_a_pod_on_a_node_that_comes_later_counts_from_then_on_and_is_never_placed(stage: Stage) -> None:
    stage.ledger.seen(pod("a", "n9"))
    assert stage.decide() == []
    assert stage.taken == 0
    stage.node("n9")
    assert stage.taken == 1
    stage.ledger.node_goes("n9")
    assert stage.taken == 0
    assert stage.decide() == []


def test_a_pod_of_the_same_name_is_another(stage: Stage) -> None:
    stage.ledger.seen(pod("a", "n1", uid="1"))
    stage.ledger.seen(pod("a", uid="2"))
    assert stage.taken == 0
    assert len(stage.decide()) == 1


def test_gated_pods_and_those_of_others_wait_for_nobody_here(stage: Stage) -> None:
    stage.ledger.seen(pod("gated", schedulingGates=[{"name": "later"}]))
    stage.ledger.seen(pod("other", schedulerName="default-scheduler"))
    assert stage.decide() == []
    stage.ledger.seen(pod("gated"))
    assert len(stage.decide()) == 1


def test_a_condition_that_changes_nothing_does_not_lose_it_its_place_in_line(stage: Stage) -> None:
    stage.ledger.seen(pod("a", nodeSelector={"no": "where"}))
    stage.decide()
    before = stage.ledger.pods["default", "a"].id
    changed = pod("a", nodeSelector={"no": "where"})
    changed["status"]["conditions"] = [{"type": "PodScheduled", "status": "False"}]
    stage.ledger.seen(changed)
    assert stage.ledger.pods["default", "a"].id == before


def test_a_pod_that_is_bound_and_dies_at_once_leaves_nothing_behind(stage: Stage) -> None:
    stage.ledger.seen(pod("a"))
    stage.decide()
    stage.ledger.gone(("default", "a"))
    stage.decide()
    assert stage.taken == 0
    assert not stage.ledger.by_id
