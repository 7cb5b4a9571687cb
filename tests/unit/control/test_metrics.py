"""What Prometheus is told of queues, fairness, preemption and failures."""

from typing import Any

import pytest

from dovetail.control.telemetry import metrics
from dovetail.control.telemetry.metrics import Metrics
from dovetail.engine.engine import Engine
from dovetail.engine.questions.questions import Questions
from dovetail.engine.settings import EngineSettings
from dovetail.model.batch import Batch
from dovetail.model.event import BindFailed, CancelAsked, NodeJoined, Submitted, TaskFinished, TaskStarted, Tick
from dovetail.model.node import Node
from dovetail.model.record import Decision
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload

SETTINGS = {
    "queues": {"own": {"guaranteed": {"cpu": 4}}, "guest": {}},
    "fair": {"weights": {"a": 3}},
    "backoff": {"first": 0},
}


class Scene:
    def __init__(self) -> None:
        self.engine = Engine(EngineSettings.model_validate(SETTINGS))
        self.metrics = Metrics(Questions(self.engine))
        for number, zone in enumerate(("east", "west")):
            fields = {"name": f"n{number}", "capacity": {"cpu": 8}, "labels": {"zone": zone}}
            self.engine.handle(NodeJoined(Node.model_validate(fields)), 0.0)

    def submit(self, id_: int, now: float = 0.0, **fields: Any) -> None:
        spec = Workload.model_validate({"name": f"w{id_}", "resources": {"cpu": 4}, **fields})
        self.engine.handle(Submitted(id_, spec), now)
        self.tick(now)

    def decided(self, id_: int, **fields: Any) -> list[Decision]:
        """What is decided about one more workload."""
        spec = Workload.model_validate({"name": f"w{id_}", "resources": {"cpu": 1}, **fields})
        before = len(self.engine._state.changes.decisions)
        self.engine.handle(Submitted(id_, spec), 0.0)
        self.engine.handle(Tick(100), 0.0)
        return self.engine._state.changes.decisions[before:]

    def tick(self, now: float) -> None:
        self.engine.handle(Tick(100), now)
        self.metrics.count(Batch(changes=self.engine.take_changes(now)), now)

    def value(self, name: str, **labels: str) -> float | None:
        self.metrics.look()
        return self.metrics.registry.get_sample_value(name, labels)

    @property
    def text(self) -> str:
        self.metrics.look()
        return self.metrics.text().decode()


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_use_is_told_by_queue_with_what_is_guaranteed_and_borrowed(scene: Scene) -> None:
    scene.submit(1, queue="guest", replicas=2)
    assert scene.value("dovetail_queue_used", queue="guest", resource="cpu") == 8.0
    assert scene.value("dovetail_queue_borrowed", queue="guest", resource="cpu") == 8.0
    assert scene.value("dovetail_queue_guaranteed", queue="own", resource="cpu") == 4.0
    assert scene.value("dovetail_queue_used", queue="guest", resource="slots") is None


def test_every_tenant_is_told_how_far_it_is_from_fair(scene: Scene) -> None:
    scene.submit(1, namespace="a", replicas=2)
    scene.submit(2, namespace="b", replicas=2)
    assert scene.value("dovetail_fair_share_deviation", tenant="a") == pytest.approx(8 / (16 * 3 / 4) - 1)
    assert scene.value("dovetail_fair_share_deviation", tenant="b") == pytest.approx(8 / (16 * 1 / 4) - 1)


def test_utilisation_is_told_by_node_and_in_a_large_cluster_by_zone(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.submit(1)
    node = scene.engine._state.work[1].tasks[0].node
    zone = {"n0": "east", "n1": "west"}[str(node)]
    labels = {"zone": zone, "backend": "registered", "resource": "cpu"}
    assert scene.value("dovetail_worker_utilization", node=str(node), **labels) == 0.5
    monkeypatch.setattr(metrics, "MOST_NODES", 1)
    assert scene.value("dovetail_worker_utilization", node=str(node), **labels) is None
    assert scene.value("dovetail_worker_utilization", node="", **labels) == 0.5


def test_preemptions_are_counted_and_are_no_failures(scene: Scene) -> None:
    scene.submit(1, priority="batch", replicas=4)
    scene.submit(2, now=1.0, priority="critical")
    assert scene.value("dovetail_preemptions_total") == 1.0
    assert scene.value("dovetail_decisions_total", outcome="preempting") == 1.0
    assert scene.value("dovetail_scheduling_failures_total", reason="preempting") is None


def test_failures_are_counted_by_reason(scene: Scene) -> None:
    scene.submit(1, resources={"cpu": 100}, deadline={"schedule_within": 5})
    assert scene.value("dovetail_scheduling_failures_total", reason="insufficient_resources") == 1.0
    scene.tick(6.0)
    assert scene.value("dovetail_scheduling_failures_total", reason="timeout") == 1.0
    scene.submit(2, now=7.0)
    scene.engine.handle(BindFailed(TaskId(2, 0), "2.0.1", "no such image"), 8.0)
    scene.metrics.count(Batch(changes=scene.engine.take_changes(8.0)), 8.0)
    assert scene.value("dovetail_scheduling_failures_total", reason="bind_failed") == 1.0


def test_tasks_that_ended_together_are_counted_each(scene: Scene) -> None:
    scene.submit(1, resources={"cpu": 100}, replicas=300, deadline={"schedule_within": 5})
    scene.submit(2, resources={"cpu": 100}, replicas=300)
    scene.tick(6.0)
    assert scene.value("dovetail_scheduling_failures_total", reason="timeout") == 300.0
    scene.engine.handle(CancelAsked(2, "enough"), 7.0)
    scene.metrics.count(Batch(changes=scene.engine.take_changes(7.0)), 7.0)
    assert scene.value("dovetail_tasks_finished_total", state="cancelled") == 300.0


def test_recovery_lasts_from_losing_a_node_to_having_another(scene: Scene) -> None:
    scene.submit(1, retries=1)
    scene.engine.handle(TaskStarted(TaskId(1, 0), "1.0.1"), 1.0)
    scene.engine.handle(TaskFinished(TaskId(1, 0), "1.0.1", 1, "exit status 1"), 10.0)
    scene.metrics.count(Batch(changes=scene.engine.take_changes(10.0)), 10.0)
    scene.tick(13.0)
    assert scene.value("dovetail_recovery_duration_seconds_count") == 1.0
    assert scene.value("dovetail_recovery_duration_seconds_sum") == 3.0


def test_a_quarantined_node_is_counted_as_such(scene: Scene) -> None:
    scene.engine._state.cluster.set_quarantined("n1", "placements keep failing there")
    assert 'dovetail_nodes{status="quarantined"} 1.0' in scene.text
    assert 'dovetail_nodes{status="online"} 1.0' in scene.text


@pytest.mark.parametrize(
    "name",
    [
        "dovetail_scheduling_latency_seconds",
        "dovetail_queue_wait_seconds",
        "dovetail_preemptions_total",
        "dovetail_scheduling_failures_total",
        "dovetail_worker_utilization",
        "dovetail_allocated_ratio",
        "dovetail_decisions_total",
        "dovetail_recovery_duration_seconds",
        "dovetail_fair_share_deviation",
    ],
)
def test_the_metrics_that_operators_know_are_there(scene: Scene, name: str) -> None:
    assert f"# TYPE {name} " in scene.text


def test_decisions_about_work_arranged_by_the_network_are_counted_apart() -> None:
    scene = Scene()
    scene.submit(1)
    decisions = scene.decided(2, replicas=2, gang={"min": 2}, topology={"required": "zone"})
    scene.metrics.decided(decisions, 0.5)
    decisions = scene.decided(3, replicas=8, gang={"min": 8}, topology={"required": "zone"})
    scene.metrics.decided(decisions, 0.5)
    text = scene.metrics.text().decode()
    assert 'topology_placement_decisions_total{outcome="placed"} 2.0' in text
    assert 'topology_placement_decisions_total{outcome="no_domain_fits"} 1.0' in text
    assert "topology_scheduler_latency_seconds_count 2.0" in text
    assert "topology_scheduler_latency_seconds_sum 0.75" in text
    scene.metrics.decided(scene.decided(4), 0.1)
    assert "topology_scheduler_latency_seconds_count 2.0" in scene.metrics.text().decode()
