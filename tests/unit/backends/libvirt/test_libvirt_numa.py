"""A machine with two NUMA cells: that of libvirt's own test driver, which runs in memory and starts no VM for real."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

pytest.importorskip(
    "libvirt", reason="the Python package libvirt-python is not installed (Debian: libvirt-dev to build it)"
)

import libvirt

from dovetail.backends.contract import Assignment, Refusal
from dovetail.backends.libvirt.backend import LibvirtBackend
from dovetail.backends.libvirt.domain_xml import migrated_xml
from dovetail.backends.libvirt.host_facts import HostFacts, NumaCell
from dovetail.backends.libvirt.huge_pages import huge_pages_of
from dovetail.backends.libvirt.settings import LibvirtSettings
from dovetail.model.event import TaskStarted
from dovetail.model.failure_cause import FailureCause
from dovetail.model.workloads.virtual_machine import HugePages
from dovetail.model.workloads.workload import Workload
from dovetail.testing.rig import Rig, Subject, run_async, started

URI = "test:///default"
SETTINGS = LibvirtSettings.model_validate({"hypervisors": {"hv": URI}, "cluster": "numa"})
RUNNING = """<domain type='qemu'><memory unit='KiB'>5120</memory>
<memoryBacking><hugepages><page size='2048' unit='KiB'/></hugepages></memoryBacking>
<vcpu placement='static' cpuset='8-15'>1</vcpu><numatune><memory mode='strict' nodeset='1'/></numatune>
<devices><serial type='pty'><log file='/log' append='off'/></serial></devices></domain>"""


def in_cell(cell: int) -> Workload:
    resources = {"cpu": 1, "memory": "8MiB", f"libvirt.org/numa-{cell}-MiB": 8}
    vm = {"kernel": "linux", "numa_cell": cell}
    return Workload.model_validate({"name": "work", "kind": "vm", "resources": resources, "vm": vm})


def machine_with(*cells: tuple[int, ...]) -> HostFacts:
    described = {number: NumaCell(2**30, cpus) for number, cpus in enumerate(cells)}
    return HostFacts("u", "h", "qemu", "x86_64", 16, 2**31, {}, described, {})


def bound(rig: Rig, number: int, cell: int) -> Assignment:
    spec = in_cell(cell)
    work = rig.assignment(number, spec)
    return Assignment(work.key, work.task, "hv", spec)


def test_each_cell_is_a_resource_and_a_vm_gets_the_memory_and_the_cpus_of_its_own(tmp_path: Path) -> None:
    subject = Subject(lambda: LibvirtBackend("vms", SETTINGS, tmp_path), lambda *_: in_cell(1))

    async def scene() -> None:
        async with started(subject) as rig:
            (node,) = rig.reports.nodes
            offered = {name: amount for name, amount in node.capacity.amounts().items() if "numa" in name}
            assert offered == {"libvirt.org/numa-0-MiB": 2048, "libvirt.org/numa-1-MiB": 4096}
            assert node.labels["numa_cells"] == "2"
            work = bound(rig, 1, 1)
            await rig.backend.bind(work)
            await rig.reports.until(TaskStarted, work.key)
            connection = libvirt.open(URI)
            domain = ET.fromstring(connection.lookupByName(f"dovetail-numa-{work.key}").XMLDesc())
            connection.close()
            assert _field(domain, "vcpu", "cpuset") == "8-15"
            assert _field(domain, "numatune/memory", "nodeset") == "1"
            with pytest.raises(Refusal, match="has no NUMA cell 2 with CPUs; it has 0, 1") as refused:
                await rig.backend.bind(bound(rig, 2, 2))
            assert refused.value.cause is FailureCause.NODE
            await rig.backend.stop(work.key, "enough")
            await rig.finished(work.key)

    run_async(scene)


def _field(domain: Any, path: str, name: str) -> str | None:
    found = domain.find(path)
    return None if found is None else found.get(name)


def test_a_vm_that_moves_gets_the_cpus_of_its_cell_on_the_other_machine() -> None:
    moved = ET.fromstring(migrated_xml(RUNNING, machine_with((0, 2), (1, 3)).cpu_lists))
    assert _field(moved, "vcpu", "cpuset") == "1,3"
    assert _field(moved, "devices/serial/log", "append") == "on"
    for target in (machine_with((0, 1)), machine_with((0, 1), ())):
        with pytest.raises(Refusal, match="has no NUMA cell 1 with CPUs; it has 0"):
            migrated_xml(RUNNING, target.cpu_lists)


def test_the_huge_pages_of_a_domain_are_whole_pages() -> None:
    assert huge_pages_of(RUNNING) == (HugePages.TWO_MIB, 3)
    assert huge_pages_of("<domain><memory unit='KiB'>4096</memory></domain>") is None
