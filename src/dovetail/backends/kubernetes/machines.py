"""The cluster's nodes as Dovetail's nodes: capacity, labels, taints and health.

Capacity is what the node can allocate minus the requests of pods that are not ours. It changes with those pods, and
the node is then reported again. Handlers of watches record changes; `changes` returns the events since the last call.
"""

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dovetail.backends.kubernetes.amounts import amounts_of, taken_by
from dovetail.backends.kubernetes.manifest import KINDS
from dovetail.kubernetes_client.reflector import ChangeKind, ObjectChange
from dovetail.model.device import WHOLE, Gpus
from dovetail.model.event import Event, NodeHealthChanged, NodeJoined, NodeLeft
from dovetail.model.node import Node
from dovetail.model.resources import GPU, SLOTS, Amounts, capacity_of
from dovetail.model.workloads.selection import Effect, Taint

CORDONED = "node.kubernetes.io/unschedulable"
NOT_READY_TAINTS = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
"""Taints that repeat the node's health. The cluster evicts for them: by default, pods stay for five minutes."""
GPU_MODEL, GPU_MEMORY_MIB = "nvidia.com/gpu.product", "nvidia.com/gpu.memory"
_MIB = 2**20
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Machine:
    """One node. `raw`: the fields of the object that are needed; None if it was removed."""

    raw: dict[str, Any] | None
    others: Amounts = field(default_factory=dict)
    announced: Node | None = None
    well: bool = True


class Machines:
    def __init__(self, backend: str, gpu_resource: str) -> None:
        self._backend = backend
        self._gpu_resource = gpu_resource
        self._machines: dict[str, _Machine] = {}
        self._other_pods: dict[str, tuple[str, Amounts]] = {}  # by uid: their node and amounts
        self._unknown_nodes: dict[str, Amounts] = {}  # use of nodes that are not known (yet)
        self._dirty: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._machines

    def nodes(self) -> list[Node]:
        return [self._describe(name, m.raw, m.others) for name, m in self._machines.items() if m.raw is not None]

    # --- handlers --------------------------------------------------------------------------------------------

    def take_nodes(self, changes: list[ObjectChange]) -> None:
        for kind, item in changes:
            name = item["metadata"]["name"]
            machine = self._machines.get(name)
            if kind is ChangeKind.DELETED:
                if machine is None:
                    continue
                machine.raw = None
            elif machine is None:
                self._machines[name] = _Machine(_relevant_fields(item), self._unknown_nodes.pop(name, {}))
            else:
                machine.raw = _relevant_fields(item)
            self._dirty.add(name)

    def take_other_pods(self, changes: list[ObjectChange]) -> None:
        """Changes of other pods that are on a node."""
        for kind, item in changes:
            uid = item["metadata"]["uid"]
            before = self._other_pods.pop(uid, None)
            if before is not None:
                self._add_use(before[0], before[1], -1)
            if kind is ChangeKind.DELETED:
                continue
            where = item["spec"].get("nodeName")
            if where and (item.get("status") or {}).get("phase") not in ("Succeeded", "Failed"):
                taken = taken_by(item, self._gpu_resource)
                self._other_pods[uid] = (where, taken)
                self._add_use(where, taken, 1)

    def _add_use(self, node: str, amounts: Amounts, sign: int) -> None:
        machine = self._machines.get(node)
        held = machine.others if machine is not None else self._unknown_nodes.setdefault(node, {})
        for name, amount in amounts.items():
            held[name] = held.get(name, 0) + sign * amount
        if machine is not None:
            self._dirty.add(node)

    # --- what to tell ----------------------------------------------------------------------------------------

    def changes(self) -> list[Event]:
        """The events since the last call."""
        events: list[Event] = []
        for name in sorted(self._dirty):
            machine = self._machines[name]
            if machine.raw is None:
                self._forget(name, machine, events)
                continue
            try:
                node = self._describe(name, machine.raw, machine.others)
            except ValueError as error:  # an object of the cluster may be invalid here
                _log.error("node %s of backend %s is left out: %s", name, self._backend, error)
                continue
            well, why = _health(machine.raw)
            if node != machine.announced:
                events.append(NodeJoined(node))
                machine.announced, machine.well = node, True  # a node that joins counts as healthy
            if well != machine.well:
                events.append(NodeHealthChanged(node.name, well, why))
                machine.well = well
        self._dirty.clear()
        return events

    def report_again(self, events: list[Event]) -> None:
        """The report of these events failed."""
        for event in events:
            name = event.node.name if isinstance(event, NodeJoined) else getattr(event, "name", "")
            if name in self._machines:
                self._machines[name].announced = None
                self._dirty.add(name)

    def _forget(self, name: str, machine: _Machine, events: list[Event]) -> None:
        if machine.announced is not None:
            events.append(NodeLeft(machine.announced.name, "the node was removed from the cluster"))
        del self._machines[name]
        if any(machine.others.values()):  # its pods are removed one by one
            self._unknown_nodes[name] = machine.others

    def _describe(self, name: str, raw: Mapping[str, Any], others: Amounts) -> Node:
        amounts = amounts_of(raw["allocatable"], self._gpu_resource)
        free = {key: max(0, amount - others.get(key, 0)) for key, amount in amounts.items()}
        free.setdefault(SLOTS, 0)
        return Node(
            name=name,
            backend=self._backend,
            capacity=capacity_of(free),
            labels=raw["labels"],
            taints=_taints(raw),
            kinds=list(KINDS),
            gpus=_gpus(raw["labels"], free.get(GPU, 0) // WHOLE),
        )


def _relevant_fields(item: Mapping[str, Any]) -> dict[str, Any]:
    spec, status = item.get("spec") or {}, item.get("status") or {}
    ready = next((each for each in status.get("conditions") or () if each.get("type") == "Ready"), None)
    return {
        "labels": item["metadata"].get("labels") or {},
        "allocatable": status.get("allocatable") or status.get("capacity") or {},
        "taints": spec.get("taints") or [],
        "cordoned": bool(spec.get("unschedulable")),
        "ready": ready,
    }


def _health(raw: Mapping[str, Any]) -> tuple[bool, str]:
    ready = raw["ready"]
    if ready is None:
        return False, "its kubelet has not said that it is ready"
    if ready.get("status") == "True":
        return True, "its kubelet says that it is ready"
    return False, f"{ready.get('reason') or 'NotReady'}: {ready.get('message') or 'its kubelet says nothing'}"


def _taints(raw: Mapping[str, Any]) -> list[Taint]:
    known = set(Effect)
    found = [
        Taint(key=taint["key"], value=taint.get("value") or "", effect=taint["effect"])
        for taint in raw["taints"]
        if taint.get("effect") in known and taint["key"] not in NOT_READY_TAINTS
    ]
    if raw["cordoned"] and all(taint.key != CORDONED for taint in found):
        found.append(Taint(key=CORDONED, effect=Effect.NO_SCHEDULE))
    return found


def _gpus(labels: Mapping[str, str], count: int) -> list[Gpus]:
    """From the labels of NVIDIA's feature discovery: all GPUs of a node are of one model."""
    product = labels.get(GPU_MODEL)
    if not count or not product:
        return []
    memory_mib = labels.get(GPU_MEMORY_MIB, "")
    memory = int(memory_mib) * _MIB if memory_mib.isdecimal() else 0
    return [Gpus(count=count, model=gpu_model(product), memory=memory)]


def gpu_model(product: str) -> str:
    """`NVIDIA-H100-80GB-HBM3` is an H100, `Tesla-T4` a T4; other names stay as they are."""
    words = product.removeprefix("NVIDIA-").removeprefix("Tesla-")
    match = re.match(r"[A-Z]{1,3}\d{1,4}[a-z]{0,2}(?=-|$)", words)
    return match[0] if match else words
