"""Turns Slurm's nodes into Dovetail's nodes.

A node's capacity is what is free in Slurm plus the requests of our tasks that run there. So resources of other jobs are
not offered, nor is what Slurm allocates beyond a request (whole cores, a minimum of memory). A job takes at least one
CPU: a node has as many slots as CPUs.

With `place: slurm`, a node is a whole partition with the sum of its usable nodes. Whether a task fits one of them is
left to Slurm.
"""

import logging
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dovetail.backends.batch.description import Description, node_name
from dovetail.backends.slurm.driver import PartitionRecord, SlurmNode, SlurmReservation
from dovetail.backends.slurm.gres import Counted, counted, extended_of, gpus_of
from dovetail.backends.slurm.reasons import returns_by_itself
from dovetail.backends.slurm.settings import SlurmSettings
from dovetail.model.device import WHOLE
from dovetail.model.network.topology_readers.slurm import read_slurm
from dovetail.model.node import Node
from dovetail.model.resources import CPU, GPU, MEMORY, SLOTS, Amounts, Capacity
from dovetail.model.text.complaint import Invalid
from dovetail.model.text.hostlist import expanded
from dovetail.model.workloads.workload import WorkloadKind

_MIB = 2**20
_GONE = frozenset({"DOWN", "ERROR", "UNKNOWN", "FUTURE"})
_SILENT = frozenset({"NOT_RESPONDING", "NO_RESPOND", "POWERING_DOWN"})
_CLOSED = frozenset({"DRAIN", "FAIL", "MAINTENANCE", "MAINT", "REBOOT", "REBOOT_REQUESTED", "REBOOT_ISSUED"})
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_TOPOLOGY_WORD = re.compile(r"\b(SwitchName|Switches|Nodes|LinkSpeed|BlockName)=(\S+)")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Survey:
    """All that Slurm reports about its nodes at the time `now`, for the backend of this name.

    `places`: labels by node, from the topology. `ours`: by node, what our tasks that hold a part of it request.
    """

    settings: SlurmSettings
    backend: str
    now: float
    nodes: Sequence[SlurmNode]
    partitions: Sequence[PartitionRecord]
    reservations: Sequence[SlurmReservation] = ()
    places: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    ours: Mapping[str, Amounts] = field(default_factory=dict)

    def describe(self) -> dict[str, Description]:
        """By node name."""
        wanted = self.settings.partitions
        partitions = [one for one in self.partitions if not wanted or one.name in wanted]
        if wanted:
            partitions.sort(key=lambda one: wanted.index(one.name))
        if self.settings.place == "slurm":
            found = (self._of_partition(one) for one in partitions)
        else:
            named = {one.name for one in partitions}
            found = (self._of_node(one, partitions) for one in self.nodes if named.intersection(one.partitions))
        return {one.node.name: one for one in found}

    def _of_node(self, said: SlurmNode, partitions: list[PartitionRecord]) -> Description:
        there = [one for one in partitions if one.name in said.partitions]
        up = [one for one in there if one.up]
        chosen = _preferred(up or there, self.settings)
        closed = _closed(said) or self._reserved(said.name)
        if not closed and not up:
            closed = f"no partition of it is up in Slurm: {', '.join(one.name for one in there)}"
        labels = {
            "hostname": said.name,
            **({"arch": _ARCHITECTURES.get(said.arch, said.arch)} if said.arch else {}),
            **{f"slurm.partition/{one.name}": "true" for one in there},
            **{f"slurm.feature/{feature}": "true" for feature in said.features},
            **self.places.get(said.name, {}),
            **self.settings.labels,
        }
        used = None
        if said.load is not None and said.free_memory_mib is not None:
            used_mib = max(0, said.memory_mib - said.free_memory_mib)
            used = {CPU: round(said.load * 1000), MEMORY: used_mib * _MIB}
        node = self._node(said.name, [said], labels)
        return Description(
            node,
            said.name,
            silent=_silent(said),
            closed=closed,
            queue=chosen.name,
            max_minutes=chosen.max_minutes,
            used=used,
            returns=returns_by_itself(said),
        )

    def _of_partition(self, said: PartitionRecord) -> Description:
        members = [one for one in self.nodes if said.name in one.partitions]
        usable = [one for one in members if not (_silent(one) or _closed(one) or self._reserved(one.name))]
        labels = {f"slurm.partition/{said.name}": "true", **self.settings.labels}
        closed = "" if said.up else f"partition {said.name} is not up in Slurm"
        if not closed and not usable:
            closed = f"none of the {len(members)} nodes of partition {said.name} is usable"
        node = self._node(said.name, usable, labels)
        return Description(node, said.name, closed=closed, queue=said.name, max_minutes=said.max_minutes)

    def _node(self, slurm: str, records: Sequence[SlurmNode], labels: dict[str, str]) -> Node:
        name = node_name(self.settings.node_prefix, slurm)
        ours = self.ours.get(name, {})
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
        kinds = [WorkloadKind.JOB]
        return Node(name=name, backend=self.backend, capacity=capacity, labels=labels, kinds=kinds, gpus=gpus)

    def _reserved(self, name: str) -> str:
        """Why a node is reserved for jobs of others; empty if it is not."""
        here = [one.name for one in self.reservations if one.start_s <= self.now < one.end_s and name in _hosts_of(one)]
        if self.settings.reservation is not None:
            mine = self.settings.reservation in here
            return "" if mine else f"not in the reservation {self.settings.reservation} that jobs go into"
        return f"reserved in Slurm: {here[0]}" if here else ""


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
    silent = said.state in _GONE or said.flags & _SILENT
    return _in_words([said.state, *sorted(said.flags)], said) if silent else ""


def _closed(said: SlurmNode) -> str:
    signs = sorted(_CLOSED & (said.flags | {said.state}))
    return _in_words(signs, said) if signs else ""


def _in_words(states: Iterable[str], said: SlurmNode) -> str:
    return f"{'+'.join(states)} in Slurm{': ' + said.reason if said.reason else ''}"


def coming_reservation(
    name: str, reservations: Iterable[SlurmReservation], settings: SlurmSettings, now: float, minutes: int | None
) -> SlurmReservation | None:
    """The first reservation that a job of this length would overlap; Slurm would start the job after it."""
    until = float("inf") if minutes is None else now + 60 * minutes
    coming = sorted((one for one in reservations if now < one.start_s < until), key=lambda one: one.start_s)
    return next((one for one in coming if one.name != settings.reservation and name in _hosts_of(one)), None)


def _hosts_of(reservation: SlurmReservation) -> set[str]:
    return set(expanded(reservation.nodes)) if reservation.nodes else set()


def labels_by_node(printed: str) -> dict[str, dict[str, str]]:
    """The place of nodes in the network, from the output of `scontrol show topology`, by the node's name in Slurm.

    The levels are those of topology.conf in `model.network.topology_readers`: `leaf`, `spine`, `core` for switches,
    `block` and up for blocks. Empty if the topology is unknown or cannot be parsed.
    """
    text = "\n".join(filter(None, map(_as_in_the_file, printed.splitlines())))
    if not text:
        return {}
    try:
        topology = read_slurm(text, "scontrol show topology")
    except Invalid as invalid:
        _log.warning("the topology is left out: %s", invalid)
        return {}
    found: dict[str, dict[str, str]] = {}
    for level in topology.levels:
        for domain, hosts in topology.domains.get(level.name, {}).items():
            for host in hosts:
                found.setdefault(host, {})[level.key] = domain
    return found


def _as_in_the_file(line: str) -> str:
    """Without the words that scontrol adds. A switch above others also lists all nodes below it; the file has one of
    the two."""
    words = dict(_TOPOLOGY_WORD.findall(line))
    if "Switches" in words:
        words.pop("Nodes", None)
    return (
        " ".join(f"{key}={value}" for key, value in words.items()) if {"SwitchName", "BlockName"} & set(words) else ""
    )
