"""What an API has, and a tracker and an engine that were told of it, or were not."""

from typing import Any

from dovetail.engine.engine import Engine
from dovetail.engine.questions.questions import Questions
from dovetail.kubernetes.objects.pods import PodReader
from dovetail.kubernetes.scheduler.audit import audit, facts_of, nodes_of
from dovetail.kubernetes.scheduler.object_handlers import ObjectHandlers
from dovetail.kubernetes.scheduler.pod_tracker import PodTracker
from dovetail.kubernetes.scheduler.settings import DEFAULT_NAME, KubernetesSchedulerSettings, line_of
from dovetail.kubernetes_client.reflector import ChangeKind, ObjectChange
from dovetail.model.command import Bind
from dovetail.model.event import Tick

Json = dict[str, Any]
FOO = "example.com/foo"


def node(name: str, cpu: str = "4", taints: list[Json] | None = None, **labels: str) -> Json:
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "110", FOO: "2"}
    spec = {"taints": taints} if taints else {}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": {"allocatable": amounts}}


def pod(name: str, on: str = "", uid: str = "", phase: str = "Pending", **more: Any) -> Json:
    asked = {"cpu": "1", "memory": "1Gi", FOO: "1"}
    spec = {
        "schedulerName": DEFAULT_NAME,
        "containers": [{"name": "c", "image": "i", "resources": {"requests": asked}}],
    }
    about = {"namespace": "default", "name": name, "uid": uid or f"uid of {name}"}
    return {"metadata": about, "spec": spec | more | ({"nodeName": on} if on else {}), "status": {"phase": phase}}


class World:
    """What the API has, and what was told of it."""

    def __init__(self) -> None:
        self.engine = Engine(KubernetesSchedulerSettings().engine())
        readers = {DEFAULT_NAME: PodReader(line_of(DEFAULT_NAME))}
        self.tracker = PodTracker(self.engine, readers, lambda: 0.0)
        self.objects = ObjectHandlers(self.engine, self.tracker, readers, lambda: 0.0)
        self.nodes: dict[str, Json] = {}
        self.pods: dict[str, Json] = {}

    def have_node(self, one: Json, *, told: bool = True) -> None:
        self.nodes[one["metadata"]["name"]] = one
        if told:
            self.objects.nodes([ObjectChange(ChangeKind.MODIFIED, one)])

    def have_pod(self, one: Json, *, told: bool = True) -> None:
        self.pods[one["metadata"]["name"]] = one
        if told:
            self.tracker.seen(one)

    def drop_pod(self, name: str, *, told: bool = True) -> None:
        about = self.pods.pop(name)["metadata"]
        if told:
            self.tracker.gone((about["namespace"], about["name"]))

    def drop_node(self, name: str, *, told: bool = True) -> None:
        gone = self.nodes.pop(name)
        if told:
            self.objects.nodes([ObjectChange(ChangeKind.DELETED, gone)])

    def decide(self) -> list[Bind]:
        """What waits is given nodes; nobody has told the API."""
        commands = [*self.tracker.take_commands(), *self.engine.handle(Tick(100), 0.0)]
        found = [one for one in commands if isinstance(one, Bind)]
        for one in found:
            self.tracker.chose(one.task, one.node)
        return found

    def is_bound(self, bind: Bind) -> None:
        """The API says so."""
        was = next(self.pods[known.name] for known in self.tracker.pods.values() if known.id == bind.task.workload)
        self.have_pod(was | {"spec": was["spec"] | {"nodeName": bind.node}})

    def bind(self) -> None:
        """What waits gets a node, and the API says so."""
        for one in self.decide():
            self.is_bound(one)

    def differences(self) -> list[str]:
        self.engine.take_decisions()
        nodes = nodes_of(self.nodes.values(), ())
        questions, facts = Questions(self.engine), facts_of(self.pods.values())
        return [str(one) for one in audit(questions, self.tracker, [DEFAULT_NAME], nodes, facts)]
