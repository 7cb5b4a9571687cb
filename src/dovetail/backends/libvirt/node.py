"""A hypervisor as a node: what libvirt reports, changed by the settings, less what VMs of others take; and its use."""

import time
from collections.abc import Iterable, Mapping

from dovetail.backends.contract import MeasuredTask
from dovetail.backends.libvirt.domain_state import DomainStats
from dovetail.backends.libvirt.host_facts import HostFacts
from dovetail.backends.libvirt.power import Power
from dovetail.backends.libvirt.settings import HypervisorSettings
from dovetail.model.node import Node
from dovetail.model.resources import CPU, DEFAULT_NODE_SLOTS, DISK, MEMORY, SLOTS, Amounts, capacity_of
from dovetail.model.task_use import TaskUse
from dovetail.model.workloads.virtual_machine import MIB, HugePages, numa_resource
from dovetail.model.workloads.workload import WorkloadKind

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
MAX_LABEL = 253


def describe(
    backend: str,
    host: HypervisorSettings,
    facts: HostFacts,
    pool_bytes: int,
    others: Iterable[DomainStats],
    huge_pages: Mapping[HugePages, int],
) -> Node:
    """`others`: domains that are not ours. Those that are off take nothing but disk. `huge_pages`: those that are free
    or that our VMs have."""
    own, more = host.capacity, host.overcommit
    cpu = (float(facts.cpus) if own.cpu is None else own.cpu) * more.cpu
    memory = (facts.memory_bytes if own.memory is None else own.memory) * more.memory
    taken = [domain for domain in others if domain.power is not Power.OFF]
    amounts: Amounts = {
        CPU: max(0, round(cpu * 1000) - 1000 * sum(domain.cpus for domain in taken)),
        MEMORY: max(0, int(memory) - sum(domain.memory_bytes for domain in taken)),
        DISK: pool_bytes if own.disk is None else own.disk,
        SLOTS: DEFAULT_NODE_SLOTS if own.slots is None else own.slots,
        **{size.resource: count for size, count in huge_pages.items()},
        **{numa_resource(cell): int(one.memory_bytes * more.memory) // MIB for cell, one in facts.cells.items()},
    }
    measured = {
        "arch": _ARCHITECTURES.get(facts.arch, facts.arch),
        "hostname": facts.hostname[:MAX_LABEL],
        "hypervisor": facts.driver,
        "numa_cells": str(max(1, len(facts.cells))),
    }
    return Node(
        name=host.name,
        backend=backend,
        capacity=capacity_of({name: amount for name, amount in amounts.items() if amount}),
        labels=measured | host.labels,
        taints=host.taints,
        kinds=[WorkloadKind.VM],
        address=host.address,
    )


class DomainMeter:
    """CPU since the last call, by domain."""

    def __init__(self) -> None:
        self._before: dict[str, tuple[float, float]] = {}  # CPU time and time of the last call, by UUID

    def measure(self, domains: Mapping[str, DomainStats]) -> dict[str, MeasuredTask]:
        """By key, for domains that run."""
        now, found = time.monotonic(), {}
        seen: dict[str, tuple[float, float]] = {}
        for key, domain in domains.items():
            if domain.power is Power.OFF:
                continue
            seen[domain.uuid] = (domain.cpu_time_s, now)
            used_s, at = self._before.get(domain.uuid, (domain.cpu_time_s, now))
            cores = max(0.0, domain.cpu_time_s - used_s) / (now - at) if now > at else None
            use = TaskUse(
                cpu_cores=cores,
                memory_bytes=domain.resident_bytes,
                disk_read_bytes=domain.disk_read_bytes,
                disk_written_bytes=domain.disk_written_bytes,
                network_received_bytes=domain.network_received_bytes,
                network_sent_bytes=domain.network_sent_bytes,
            )
            found[key] = MeasuredTask(use)
        self._before = seen
        return found


def total_use(measured: Mapping[str, MeasuredTask]) -> Amounts:
    cores = sum(one.use.cpu_cores or 0.0 for one in measured.values())
    return {CPU: round(cores * 1000), MEMORY: sum(one.use.memory_bytes or 0 for one in measured.values())}
