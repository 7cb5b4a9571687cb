"""What Prometheus is told of domains."""

from dovetail.control.telemetry.metrics import Metrics
from dovetail.engine.engine import Engine
from dovetail.engine.questions.questions import Questions
from dovetail.model.event import NodeCordoned, NodeJoined, Submitted, Tick
from dovetail.model.node import Node
from dovetail.model.workloads.workload import Workload


class Scene:
    def __init__(self) -> None:
        self.engine = Engine()
        self.metrics = Metrics(Questions(self.engine))
        for number, (leaf, gpu) in enumerate((("l1", 8), ("l1", 8), ("l2", 8), ("l3", 0))):
            fields = {"name": f"n{number}", "capacity": {"cpu": 8, "gpu": gpu}, "labels": {"leaf": leaf}}
            self.engine.handle(NodeJoined(Node.model_validate(fields)), 0.0)

    def of(self, leaf: str) -> float | None:
        self.metrics.look()
        labels = {"level": "leaf", "domain": leaf}
        return self.metrics.registry.get_sample_value("topology_domain_utilization_ratio", labels)

    def of_all(self) -> float | None:
        self.metrics.look()
        return self.metrics.registry.get_sample_value("topology_gpu_allocation_ratio")


def test_a_domain_is_as_full_as_its_gpus_are_or_else_its_cores() -> None:
    scene = Scene()
    wanted = {"name": "w", "resources": {"gpu": 4, "cpu": 2}, "node_selector": {"leaf": "l1"}}
    scene.engine.handle(Submitted(1, Workload.model_validate(wanted)), 0.0)
    plain = {"name": "x", "resources": {"cpu": 2}, "node_selector": {"leaf": "l3"}}
    scene.engine.handle(Submitted(2, Workload.model_validate(plain)), 0.0)
    scene.engine.handle(Tick(10), 0.0)
    assert (scene.of("l1"), scene.of("l2"), scene.of("l3")) == (0.25, 0.0, 0.25)
    assert scene.of_all() == 4 / 24


def test_a_node_that_takes_no_work_counts_as_taken() -> None:
    scene = Scene()
    scene.engine.handle(NodeCordoned("n0", True, "repair"), 0.0)
    assert scene.of("l1") == 0.5
    assert scene.of_all() == 0.0
