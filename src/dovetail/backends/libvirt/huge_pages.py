"""The huge pages that a hypervisor can give to VMs: those that are free, and those that VMs made by us have.

The engine counts what our VMs have asked for, so theirs are offered too. What else is in use is other people's.
"""

from collections.abc import Collection, Mapping
from typing import Any
from xml.etree import ElementTree as ET

import libvirt

from dovetail.backends.libvirt.connection import HypervisorConnections
from dovetail.backends.libvirt.domain_state import find_domain
from dovetail.backends.libvirt.host_facts import HostFacts
from dovetail.model.workloads.virtual_machine import HugePages

Virt = Any
KIB = 1024
_CANNOT_TELL = (libvirt.VIR_ERR_NO_SUPPORT, libvirt.VIR_ERR_INVALID_ARG, libvirt.VIR_ERR_OPERATION_FAILED)
Taken = tuple[HugePages, int]


def free_huge_pages(virt: Virt, facts: HostFacts) -> dict[HugePages, int]:
    """Those that nobody uses now, for each size that the machine can have; all, where libvirt cannot tell. Blocking."""
    sizes = {size: size.bytes // KIB for size in facts.huge_pages}
    if not sizes:
        return {}
    first, last = min(facts.cells), max(facts.cells)
    try:
        by_cell = virt.getFreePages(list(sizes.values()), first, last - first + 1)
    except libvirt.libvirtError as error:
        if error.get_error_code() not in _CANNOT_TELL:
            raise
        return dict(facts.huge_pages)
    return {size: sum(int(cell.get(kib, 0)) for cell in by_cell.values()) for size, kib in sizes.items()}


def huge_pages_of(domain: str) -> Taken | None:
    """Those that a domain takes while it runs, from its XML."""
    described = ET.fromstring(domain)  # noqa: S314 - libvirt wrote it
    page, memory = described.find("memoryBacking/hugepages/page"), described.findtext("memory")
    if page is None or memory is None:
        return None
    for size in HugePages:
        if int(page.get("size", "0")) * KIB == size.bytes:
            return size, -(-int(memory) * KIB // size.bytes)
    return None


class OfferedPages:
    """The XML of each domain is read once."""

    def __init__(self, connections: HypervisorConnections) -> None:
        self._connections = connections
        self._taken: dict[str, Taken | None] = {}  # by the UUID of a domain that runs

    async def with_ours(self, free: Mapping[HugePages, int], ours: Collection[str]) -> dict[HugePages, int]:
        """`ours`: the UUIDs of our domains that run. For a moment this may be more than there are: a VM that starts
        has not taken its pages yet."""
        unknown = [uuid for uuid in ours if uuid not in self._taken]

        def read(virt: Virt) -> list[Taken | None]:
            domains = [find_domain(virt, uuid) for uuid in unknown]
            return [None if domain is None else huge_pages_of(domain.XMLDesc()) for domain in domains]

        if unknown:
            self._taken |= dict(zip(unknown, await self._connections.call(read), strict=True))
        self._taken = {uuid: taken for uuid, taken in self._taken.items() if uuid in ours}
        offered = dict(free)
        for taken in self._taken.values():
            if taken is not None:
                offered[taken[0]] = offered.get(taken[0], 0) + taken[1]
        return offered
