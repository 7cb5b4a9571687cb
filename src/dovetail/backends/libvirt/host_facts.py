"""What a hypervisor says of itself: its machine, the guests that it can run, NUMA cells and huge pages."""

from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as ET

from dovetail.model.workloads.virtual_machine import HugePages

Virt = Any
KIB = 1024


@dataclass(frozen=True, slots=True)
class GuestKind:
    """How VMs of an architecture are run here. `domain`: `kvm`, or `qemu` for emulation."""

    emulator: str
    domain: str


@dataclass(frozen=True, slots=True)
class NumaCell:
    memory_bytes: int
    cpus: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HostFacts:
    """`huge_pages`: how many there are, used or not, of each size that the machine can have."""

    uuid: str
    hostname: str
    driver: str  # "qemu", "test"
    arch: str
    cpus: int
    memory_bytes: int
    guests: dict[str, GuestKind]
    cells: dict[int, NumaCell]
    huge_pages: dict[HugePages, int]

    @property
    def cpu_lists(self) -> dict[str, str]:
        """The CPUs of each NUMA cell that has some, by its number, as libvirt writes them."""
        return {str(number): ",".join(map(str, cell.cpus)) for number, cell in self.cells.items() if cell.cpus}


def read_facts(virt: Virt, *, emulate: bool = False) -> HostFacts:
    """Blocking. `emulate`: KVM is not used, also where there is KVM."""
    described = ET.fromstring(virt.getCapabilities())  # noqa: S314 - libvirt wrote it
    info = virt.getInfo()
    guests: dict[str, GuestKind] = {}
    for guest in described.findall("guest"):
        arch = guest.find("arch")
        if guest.findtext("os_type") != "hvm" or arch is None:
            continue
        domains = [one.get("type", "") for one in arch.findall("domain")]
        domain = "kvm" if "kvm" in domains and not emulate else domains[0] if domains else "qemu"
        guests[arch.get("name", "")] = GuestKind(arch.findtext("emulator") or "", domain)
    cells = described.findall("host/topology/cells/cell")
    return HostFacts(
        uuid=described.findtext("host/uuid") or virt.getHostname(),
        hostname=str(virt.getHostname()),
        driver=str(virt.getType()).lower(),
        arch=described.findtext("host/cpu/arch") or str(info[0]),
        cpus=int(info[2]),
        memory_bytes=int(info[1]) * KIB * KIB,
        guests=guests,
        cells={int(cell.get("id", "0")): _cell(cell) for cell in cells},
        huge_pages=_huge_pages(cells),
    )


def _cell(cell: ET.Element) -> NumaCell:
    cpus = sorted(int(cpu.get("id", "0")) for cpu in cell.findall("cpus/cpu"))
    return NumaCell(int(cell.findtext("memory") or 0) * KIB, tuple(cpus))


def _huge_pages(cells: list[ET.Element]) -> dict[HugePages, int]:
    found: dict[HugePages, int] = {}
    for page in (page for cell in cells for page in cell.findall("pages")):
        for size in HugePages:
            if int(page.get("size", "0")) * KIB == size.bytes:
                found[size] = found.get(size, 0) + int(page.text or 0)
    return found
