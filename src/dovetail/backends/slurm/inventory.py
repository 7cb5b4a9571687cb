"""Turns Slurm's nodes into Dovetail's nodes. Pure.

A node's capacity is what is free in Slurm plus the requests of our tasks that run there. So resources of other jobs are
not offered, nor is what Slurm allocates beyond a request (whole cores, a minimum of memory). A job takes at least one
CPU: a node has as many slots as CPUs.

With `place: slurm`, a node is a whole partition with the sum of its usable nodes. Whether a task fits one of them is
left to Slurm.

"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dovetail.backends.slurm.gres import Counted, counted, extended_of, gpus_of
from dovetail.backends.slurm.records import PartitionRecord, SlurmNode, SlurmReservation
from dovetail.backends.slurm.settings import SlurmSettings
from dovetail.model.device import WHOLE
from dovetail.model.node import Node
from dovetail.model.resources import CPU, GPU, MEMORY, SLOTS, Amounts, Capacity
from dovetail.model.text.hostlist import expanded
from dovetail.model.text.strict import MAX_NODE_NAME, check_node_name
from dovetail.model.workloads.workload import WorkloadKind

_MIB = 2**20
_GONE = frozenset({"DOWN", "ERROR", "UNKNOWN", "FUTURE"})
_SILENT = frozenset({"NOT_RESPONDING", "NO_RESPOND", "POWERING_DOWN"})
_CLOSED = frozenset({"DRAIN", "FAIL", "MAINTENANCE", "MAINT", "REBOOT", "REBOOT_REQUESTED", "REBOOT_ISSUED"})
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True)
class Survey:
    """All that Slurm reports about its nodes at one time. `places`: labels by node, from the topology."""

    nodes: tuple[SlurmNode, ...]
    partitions: tuple[PartitionRecord, ...]
    reservations: tuple[SlurmReservation, ...] = ()
    places: Mapping[str, Mapping[str, str]] | None = None


@dataclass(frozen=True, slots=True)
class Description:
    """One node. `slurm`: the name of the node or partition in Slurm. `silent`: why its state is unknown. `closed`: why
    it takes no new work. `partition`: where its jobs are submitted. `max_minutes`: the time limit there."""

    node: Node
    slurm: str
    silent: str = ""
    closed: str = ""
    partition: str | None = None
    max_minutes: int | None = None
    used: Amounts | None = None


def describe(
    survey: Survey, settings: SlurmSettings, backend: str, ours: Mapping[str, Amounts], now: float
) -> dict[str, Description]:
    """By node name. `ours`: what our tasks that hold a part of the node request."""
    partitions = [one for one in survey.partitions if not settings.partitions or one.name in settings.partitions]
    if settings.partitions:
        partitions.sort(key=lambda one: settings.partitions.index(one.name))
    if settings.place == "slurm":
        found = (_of_partition(one, survey, settings, backend, ours, now) for one in partitions)
    else:
        named = {one.name for one in partitions}
        here = (one for one in survey.nodes if named.intersection(one.partitions))
        found = (_of_node(one, survey, partitions, settings, backend, ours, now) for one in here)
    return {one.node.name: one for one in found}


def node_name(settings: SlurmSettings, slurm: str) -> str:
    """Slurm's name, changed where it is not a valid node name."""
    name = f"{settings.node_prefix}{slurm}"[:MAX_NODE_NAME]
    try:
        return check_node_name(name)
    except ValueError:
        return check_node_name("-".join(re.findall(r"[A-Za-z0-9]+", name)) or "unnamed")


def _of_node(
    said: SlurmNode,
    survey: Survey,
    partitions: list[PartitionRecord],
    settings: SlurmSettings,
    backend: str,
    ours: Mapping[str, Amounts],
    now: float,
) -> Description:
    name = node_name(settings, said.name)
    there = [one for one in partitions if one.name in said.partitions]
    up = [one for one in there if one.up]
    chosen = _preferred(up or there, settings)
    silent = _silent(said)
    closed = _closed(said) or _reserved(said.name, survey.reservations, settings, now)
    if not closed and not up:
        closed = f"no partition of it is up in Slurm: {', '.join(one.name for one in there)}"
    labels = {
        "hostname": said.name,
        **({"arch": _ARCHITECTURES.get(said.arch, said.arch)} if said.arch else {}),
        **{f"slurm.partition/{one.name}": "true" for one in there},
        **{f"slurm.feature/{feature}": "true" for feature in said.features},
        **(survey.places or {}).get(said.name, {}),
        **settings.labels,
    }
    node = _node(name, backend, [said], ours.get(name, {}), labels)
    used = {CPU: round((said.load or 0) * 1000), MEMORY: max(0, said.memory_mib - (said.free_memory_mib or 0)) * _MIB}
    known = said.load is not None and said.free_memory_mib is not None
    return Description(node, said.name, silent, closed, chosen.name, chosen.max_minutes, used if known else None)


def _of_partition(
    said: PartitionRecord,
    survey: Survey,
    settings: SlurmSettings,
    backend: str,
    ours: Mapping[str, Amounts],
    now: float,
) -> Description:
    name = node_name(settings, said.name)
    members = [one for one in survey.nodes if said.name in one.partitions]
    usable = [
        one
        for one in members
        if not (_silent(one) or _closed(one) or _reserved(one.name, survey.reservations, settings, now))
    ]
    labels = {f"slurm.partition/{said.name}": "true", **settings.labels}
    closed = "" if said.up else f"partition {said.name} is not up in Slurm"
    if not closed and not usable:
        closed = f"none of the {len(members)} nodes of partition {said.name} is usable"
    node = _node(name, backend, usable, ours.get(name, {}), labels)
    return Description(node, said.name, closed=closed, partition=said.name, max_minutes=said.max_minutes)


def _node(name: str, backend: str, said: Iterable[SlurmNode], ours: Amounts, labels: dict[str, str]) -> Node:
    records = list(said)
    cpus, memory_mib = sum(one.cpus for one in records), sum(one.memory_mib for one in records)
    idle_cpus = sum(max(0, one.cpus - one.allocated_cpus) for one in records)
    idle_mib = sum(max(0, one.memory_mib - one.allocated_memory_mib) for one in records)
    there: Counted = sum((counted(one.gres) for one in records), Counter())
    idle: Counted = there - sum((counted(one.gres_used) for one in records), Counter())
    extended = {
        resource: min(extended_of(idle).get(resource, 0) + ours.get(resource, 0), count)
        for resource, count in extended_of(there).items()
    }
    capacity = Capacity.model_validate(
        {
            "cpu": min(idle_cpus * 1000 + ours.get(CPU, 0), cpus * 1000) / 1000,
            "memory": min(idle_mib * _MIB + ours.get(MEMORY, 0), memory_mib * _MIB),
            "disk": sum(one.disk_mib for one in records) * _MIB,
            "slots": min(idle_cpus + ours.get(SLOTS, 0), cpus),
            **extended,
        }
    )
    gpus = gpus_of(_offered(there, idle, ours.get(GPU, 0) // WHOLE))
    return Node(name=name, backend=backend, capacity=capacity, labels=labels, kinds=[WorkloadKind.JOB], gpus=gpus)


def _offered(there: Counted, idle: Counted, ours: int) -> Counted:
    """GPUs that are free or ours. The types of ours are not recorded: types in use are taken in order."""
    found: Counted = Counter()
    for kind, count in sorted(there.items()):
        free = idle.get(kind, 0)
        mine = min(count - free, ours) if kind[0] == "gpu" else 0
        ours -= mine
        found[kind] = free + mine
    return +found


def _preferred(partitions: list[PartitionRecord], settings: SlurmSettings) -> PartitionRecord:
    """The first partition in the settings, else Slurm's default, else any."""
    if settings.partitions:
        return partitions[0]
    return next((one for one in partitions if one.default), partitions[0])


def _silent(said: SlurmNode) -> str:
    if said.state in _GONE or said.flags & _SILENT:
        words = "+".join([said.state, *sorted(said.flags)])
        return f"{words} in Slurm{': ' + said.reason if said.reason else ''}"
    return ""


def _closed(said: SlurmNode) -> str:
    signs = sorted(_CLOSED & (said.flags | {said.state}))
    if not signs:
        return ""
    return f"{'+'.join(signs)} in Slurm{': ' + said.reason if said.reason else ''}"


def _reserved(name: str, reservations: Iterable[SlurmReservation], settings: SlurmSettings, now: float) -> str:
    mine, others = False, ""
    for one in reservations:
        if one.start_s <= now < one.end_s and name in hosts_of(one.nodes):
            mine = mine or one.name == settings.reservation
            others = others or one.name
    if settings.reservation is not None:
        return "" if mine else f"not in the reservation {settings.reservation} that jobs go into"
    return f"reserved in Slurm: {others}" if others else ""


def coming_reservation(
    name: str, reservations: Iterable[SlurmReservation], settings: SlurmSettings, now: float, minutes: int | None
) -> SlurmReservation | None:
    """The first reservation that a job of this length would overlap; Slurm would start the job after it."""
    until = float("inf") if minutes is None else now + 60 * minutes
    coming = sorted((one for one in reservations if now < one.start_s < until), key=lambda one: one.start_s)
    return next((one for one in coming if one.name != settings.reservation and name in hosts_of(one.nodes)), None)


def hosts_of(hostlist: str) -> set[str]:
    return set(expanded(hostlist)) if hostlist else set()
