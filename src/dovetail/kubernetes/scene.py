"""A cluster of Kubernetes objects in an engine, as an adapter would tell it of them: for checks and questions.

Guarantees: the engine decides with its own filters on its own state; nothing here decides anything.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from dovetail.cluster.placements import NO_VICTIM_INFO
from dovetail.engine.engine import Engine
from dovetail.engine.state.settings import EngineSettings
from dovetail.kubernetes.moment import seconds
from dovetail.kubernetes.nodes import read_node
from dovetail.kubernetes.pods import PROFILE, PodMeaning, PodReader, is_finished
from dovetail.model.event import NodeJoined
from dovetail.model.node import Node
from dovetail.model.task import TaskId
from dovetail.placement.contract import Request
from dovetail.placement.pipeline.evaluation import Evaluator

Json = Mapping[str, Any]
Name = tuple[str, str]  # namespace, name


def name_of(thing: Json) -> Name:
    return thing["metadata"].get("namespace") or "", thing["metadata"]["name"]


class Scene:
    def __init__(self, now: float) -> None:
        self.engine = Engine(EngineSettings(default_profile=PROFILE))
        self.reader = PodReader()
        self.now = now
        self.tasks: dict[Name, TaskId] = {}
        self.names: dict[TaskId, Name] = {}
        self._nodes: dict[str, tuple[Json, Json | None]] = {}  # with what is known of their volumes

    @property
    def evaluator(self) -> Evaluator:
        return self.engine.state.pipelines[PROFILE].evaluator

    def add_objects(self, objects: Mapping[str, Iterable[Json]]) -> None:
        """Namespaces, volumes and devices and what belongs to them, nodes."""
        for namespace in objects.get("namespaces") or ():
            self.reader.set_namespace(namespace)
        for volume in objects.get("pvs") or ():
            self.reader.storage.set_volume(volume)
        for claim in objects.get("pvcs") or ():
            self.reader.storage.set_claim(claim)
        for storage_class in objects.get("storageClasses") or ():
            self.reader.storage.making.set_class(storage_class)
        for driver in objects.get("csiDrivers") or ():
            self.reader.storage.making.set_driver(driver)
        for room in objects.get("csiStorageCapacities") or ():
            self.reader.storage.making.set_room(room)
        for device_class in objects.get("deviceClasses") or ():
            self.reader.devices.set_class(device_class)
        for resource_claim in objects.get("resourceClaims") or ():
            self.reader.devices.set_claim(resource_claim)
        for slice_ in objects.get("resourceSlices") or ():
            self.reader.devices.inventory.set_slice(slice_)
        by_name = {one["metadata"]["name"]: one for one in objects.get("csiNodes") or ()}
        for node in objects.get("nodes") or ():
            name = node["metadata"]["name"]
            self._nodes[name] = node, by_name.get(name)
            self.reader.devices.inventory.set_node(name, node["metadata"].get("labels") or {})
            self.engine.handle(NodeJoined(self._node(name)), self.now)

    def place(self, pod: Json, node: str) -> TaskId | None:
        """The pod is on the node; None if it counts nowhere."""
        state = self.engine.state
        if is_finished(pod) or node not in state.cluster.rows:
            return None
        task = self.tasks.setdefault(name_of(pod), TaskId(len(self.tasks) + 1, 0))
        self.names[task] = name_of(pod)
        meaning = self.reader.read_placed(pod)
        victim_info = NO_VICTIM_INFO._replace(
            priority=meaning.priority, since=seconds((pod.get("status") or {}).get("startTime"), self.now)
        )
        column = state.request(meaning.terms.shape).column
        state.cluster.place(task, state.cluster.rows[node], column, victim_info=victim_info, identity=meaning.identity)
        return task

    def _node(self, name: str) -> Node:
        node, csi_node = self._nodes[name]
        return read_node(node, csi_node, marks=self.reader.devices.marks(name))

    def asked(self, meaning: PodMeaning) -> Request:
        for name in self.reader.devices.take_changed() & self._nodes.keys():
            self.engine.state.cluster.join(self._node(name))  # what is placed there is no work that the engine knows
        return self.engine.state.asked(meaning.terms.shape, meaning.identity)
