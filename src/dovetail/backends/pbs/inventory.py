"""Turns the nodes of PBS into Dovetail's nodes. Pure.

A node's capacity is what is free in PBS plus the requests of our tasks that run there. So resources of other jobs are
not offered. Where PBS does not say how much memory is used, all of it is offered. A job takes at least one CPU: a node
has as many slots as CPUs.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from dovetail.backends.batch.description import Description, node_name
from dovetail.backends.pbs.dialect import PbsNode, PbsQueue
from dovetail.backends.pbs.settings import PbsSettings
from dovetail.model.device import MAX_DEVICES, WHOLE
from dovetail.model.node import Node
from dovetail.model.resources import CPU, GPU, MEMORY, SLOTS, Amounts, Capacity
from dovetail.model.workloads.workload import WorkloadKind

#: Before the names of resources of PBS that Dovetail has no word for.
EXTENDED = "pbs/"
_EXTENDED_NAME = re.compile(r"[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*", re.ASCII)
_LABEL_VALUE = 253
#: States of a node that does not answer, of one that takes no jobs, and of those the ones that pass by themselves.
SILENT = frozenset({"down", "state-unknown", "stale", "unresolvable", "unknown", "no_respond", "down*", "sleep"})
CLOSED = frozenset(
    {"offline", "maintenance", "resv-exclusive", "provisioning", "wait-provisioning", "busy", "draining", "drained"}
)
RETURNING = frozenset({"provisioning", "wait-provisioning", "busy", "sleep", "unknown"})
#: A job has all of the node, whatever it asked for.
EXCLUSIVE = frozenset({"job-exclusive"})


def describe(
    settings: PbsSettings,
    backend: str,
    nodes: Iterable[PbsNode],
    queues: Sequence[PbsQueue],
    ours: Mapping[str, Amounts],
) -> dict[str, Description]:
    """By node name. `ours`: by node, what our tasks that hold a part of it request."""
    known = {queue.name: queue for queue in queues}
    wanted = [known.get(name, PbsQueue(name, open=False)) for name in settings.queues]
    found = [
        _of_node(settings, backend, node, known, wanted, ours)
        for node in nodes
        if node.queue is None or not settings.queues or node.queue in settings.queues
    ]
    return {one.node.name: one for one in found}


def _of_node(
    settings: PbsSettings,
    backend: str,
    said: PbsNode,
    known: Mapping[str, PbsQueue],
    wanted: Sequence[PbsQueue],
    ours: Mapping[str, Amounts],
) -> Description:
    queue: PbsQueue | None
    if said.queue is not None:
        queue = known.get(said.queue, PbsQueue(said.queue, open=False))
    else:
        queue = next((one for one in wanted if one.open), wanted[0] if wanted else None)
    closed = _in_words(said, CLOSED)
    if not closed and queue is not None and not queue.open:
        closed = f"queue {queue.name} is not started in PBS"
    name = node_name(settings.node_prefix, said.name)
    labels = {
        "hostname": said.host or said.name,
        **{f"pbs.resource/{each}": value[:_LABEL_VALUE] for each, value in said.texts.items()},
        **{f"pbs.property/{each}": "true" for each in said.properties},
        **({f"pbs.queue/{queue.name}": "true"} if queue is not None else {}),
        **settings.labels,
    }
    node = Node(
        name=name,
        backend=backend,
        capacity=_capacity(said, ours.get(name, {})),
        labels=labels,
        kinds=[WorkloadKind.JOB],
    )
    used = None
    if said.load is not None and said.free_memory_bytes is not None:
        used = {CPU: round(said.load * 1000), MEMORY: max(0, said.memory_bytes - said.free_memory_bytes)}
    signs = said.states & (SILENT | CLOSED)
    return Description(
        node,
        said.name,
        silent=_in_words(said, SILENT),
        closed=closed,
        queue=None if queue is None else queue.name,
        max_minutes=None if queue is None or queue.max_s is None else queue.max_s // 60,
        used=used,
        returns=bool(signs) and signs <= RETURNING,
    )


def _capacity(said: PbsNode, ours: Amounts) -> Capacity:
    taken = bool(said.states & EXCLUSIVE)
    idle_cpus = 0 if taken else max(0, said.cpus - said.used_cpus)
    used_bytes = said.used_memory_bytes
    if taken:
        idle_bytes = 0
    elif used_bytes is None:
        idle_bytes = said.memory_bytes
    else:
        idle_bytes = max(0, said.memory_bytes - used_bytes)
    idle_gpus = 0 if taken else max(0, said.gpus - said.used_gpus)
    extended: dict[str, int] = {}
    for name, count in said.counted.items():
        if _EXTENDED_NAME.fullmatch(name):
            free = max(0, count - said.used_counted.get(name, 0))
            extended[f"{EXTENDED}{name}"] = min(count, free + ours.get(f"{EXTENDED}{name}", 0))
    return Capacity.model_validate(
        {
            "cpu": min(idle_cpus * 1000 + ours.get(CPU, 0), said.cpus * 1000) / 1000,
            "memory": min(idle_bytes + ours.get(MEMORY, 0), said.memory_bytes),
            "disk": said.disk_bytes,
            "gpu": min(idle_gpus + ours.get(GPU, 0) // WHOLE, said.gpus, MAX_DEVICES),
            "slots": min(idle_cpus + ours.get(SLOTS, 0), said.cpus),
            **extended,
        }
    )


def _in_words(said: PbsNode, states: frozenset[str]) -> str:
    signs = sorted(said.states & states)
    return f"{'+'.join(signs)} in PBS{': ' + said.comment if said.comment else ''}" if signs else ""
