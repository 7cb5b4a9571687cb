"""A cluster of Kubernetes objects told to an engine as the scheduler tells it: for checks and questions.

Guarantees: the engine answers with its own filters on its own state; nothing is decided here.
"""

from collections.abc import Callable, Iterable, Mapping

from dovetail.engine.engine import Engine
from dovetail.engine.questions.pod_answers import AssumedPod
from dovetail.engine.questions.questions import Questions
from dovetail.engine.settings import EngineSettings
from dovetail.kubernetes.checking.verdicts import Verdict, verdicts
from dovetail.kubernetes.objects.nodes import read_node
from dovetail.kubernetes.objects.pods import PROFILE, PodMeaning, PodReader, is_finished
from dovetail.kubernetes.scheduler.pod_tracker import RANK
from dovetail.kubernetes_client.objects import Json, NamespacedName, namespaced_name, seconds
from dovetail.model.event import NodeJoined, WorkArrived
from dovetail.model.node import Node
from dovetail.model.task import TaskId


class ClusterReplica:
    """`tasks` and `names`: which task of the engine each placed pod is, and back; `placed`: how it was placed."""

    def __init__(self, now: float) -> None:
        self.engine = Engine(EngineSettings(default_profile=PROFILE))
        self.questions = Questions(self.engine)
        self.reader = PodReader()
        self.now = now
        self.tasks: dict[NamespacedName, TaskId] = {}
        self.names: dict[TaskId, NamespacedName] = {}
        self.placed: dict[TaskId, AssumedPod] = {}
        self._nodes: dict[str, tuple[Json, Json | None]] = {}  # with what is known of their volumes

    def add_objects(self, objects: Mapping[str, Iterable[Json]]) -> None:
        """Namespaces, volumes, devices and what belongs to them, then nodes."""
        storage, devices = self.reader.storage, self.reader.devices
        setters: dict[str, Callable[[Json], None]] = {
            "namespaces": self.reader.set_namespace,
            "pvs": storage.set_volume,
            "pvcs": storage.set_claim,
            "storageClasses": storage.provisioning.set_class,
            "csiDrivers": storage.provisioning.set_driver,
            "csiStorageCapacities": storage.provisioning.set_capacity,
            "deviceClasses": devices.set_class,
            "resourceClaims": devices.set_claim,
            "resourceSlices": devices.inventory.set_slice,
        }
        for kind, put in setters.items():
            for item in objects.get(kind) or ():
                put(item)
        by_name = {one["metadata"]["name"]: one for one in objects.get("csiNodes") or ()}
        for node in objects.get("nodes") or ():
            name = node["metadata"]["name"]
            self._nodes[name] = node, by_name.get(name)
            devices.inventory.set_node(name, node["metadata"].get("labels") or {})
            self.engine.handle(NodeJoined(self._node(name)), self.now)

    def place(self, pod: Json, node: str) -> TaskId | None:
        """The pod is on the node; None if it counts nowhere."""
        read = self.assumed(pod, node)
        if read is None:
            return None
        namespace, name = namespaced_name(pod)
        task = self.tasks.setdefault((namespace, name), TaskId(len(self.tasks) + 1, 0))
        self.names[task], self.placed[task] = (namespace, name), read
        terms = self.reader.read(pod, placed=True).terms
        arrived = WorkArrived(task.workload, namespace, name, RANK, terms, nodes=(node,), since=read.since)
        self.engine.handle(arrived, self.now)
        return task

    def assumed(self, pod: Json, node: str) -> AssumedPod | None:
        """The pod as it would count on the node; None if it counts nowhere."""
        if is_finished(pod) or node not in self.questions.nodes:
            return None
        since = seconds((pod.get("status") or {}).get("startTime"), self.now)
        return AssumedPod(node, self.reader.read(pod, placed=True).query, since)

    def _node(self, name: str) -> Node:
        node, csi_node = self._nodes[name]
        return read_node(node, csi_node, marks=self.reader.devices.marks(name))

    def refresh(self) -> None:
        """Tells the engine of nodes whose available devices changed."""
        for name in self.reader.devices.take_changed() & self._nodes.keys():
            self.engine.handle(NodeJoined(self._node(name)), self.now)

    def verdicts(self, meaning: PodMeaning, node: str) -> list[Verdict]:
        """What the node has against the pod, in kube-scheduler's terms."""
        self.refresh()
        return verdicts(self.questions.pods.refusals(meaning.query, node), meaning.terms.shape)
