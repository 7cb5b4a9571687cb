"""Turns an assignment into the XML of a domain, and refuses what this backend cannot run. Pure.

The serial console is a terminal for `dovetail vm console` and is written to the log as well. A guest that panics is
kept as it is until its end was reported. CPU limits become a quota; a memory limit becomes the most that the balloon
may give back to the guest.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree import ElementTree as ET
from xml.etree.ElementTree import Element, SubElement

from dovetail.backends.contract import Assignment, Refusal, WorkloadRefusal
from dovetail.backends.libvirt.host_facts import GuestKind, HostFacts
from dovetail.backends.libvirt.naming import DomainIdentity, DomainMark
from dovetail.model.workloads.virtual_machine import Firmware, VirtualMachine, VirtualNetwork
from dovetail.model.workloads.workload import Workload, WorkloadKind

KIB = 1024
QUOTA_PERIOD_US = 100_000
LEAST_QUOTA_US = 1000
MACHINES = {"x86_64": "q35", "aarch64": "virt"}
_DISK_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_PREFIXES = {"virtio": "vd", "scsi": "sd", "sata": "sd", "usb": "sd"}


@dataclass(frozen=True, slots=True)
class VmFiles:
    """Paths on the hypervisor, as the domain uses them."""

    log: str | None = None
    root: str | None = None
    seed: str | None = None
    kernel: str | None = None
    initrd: str | None = None
    disks: tuple[tuple[str, str], ...] = ()  # of each disk: its path and its format


def refuse_what_cannot_run(spec: Workload) -> VirtualMachine:
    if spec.kind is not WorkloadKind.VM:
        raise WorkloadRefusal(f"workload {spec.name!r} is of kind {spec.kind}; the libvirt backend runs kind vm")
    if spec.vm is None:
        words = "has no section vm, which says what it boots; write vm: {image: NAME} or vm: {kernel: NAME}"
        raise WorkloadRefusal(f"workload {spec.name!r} {words}")
    if spec.run.env or spec.run.volumes:
        raise WorkloadRefusal(f"workload {spec.name!r} has run.env or run.volumes; a VM gets neither: use cloud_init")
    return spec.vm


def guest_kind(vm: VirtualMachine, facts: HostFacts) -> tuple[str, GuestKind]:
    """Raises WorkloadRefusal for an architecture that the hypervisor cannot run."""
    arch = vm.arch or facts.arch
    if arch not in facts.guests:
        able = ", ".join(sorted(facts.guests)) or "none"
        raise WorkloadRefusal(f"the hypervisor cannot run VMs of architecture {arch}; it can run {able}")
    return arch, facts.guests[arch]


def _cpu_list(number: str, cpus_of: Mapping[str, str]) -> str:
    """The CPUs of a NUMA cell. Raises Refusal for a cell that the hypervisor does not have, or that has none."""
    if number not in cpus_of:
        able = ", ".join(sorted(cpus_of, key=int)) or "none"
        raise Refusal(f"the hypervisor has no NUMA cell {number} with CPUs; it has {able}")
    return cpus_of[number]


def domain_xml(
    assignment: Assignment,
    identity: DomainIdentity,
    mark: DomainMark,
    facts: HostFacts,
    files: VmFiles,
    cache: str = "none",
) -> str:
    spec = assignment.spec
    vm = spec.vm
    assert vm is not None
    arch, guest = guest_kind(vm, facts)
    domain = Element("domain", type=guest.domain)
    SubElement(domain, "name").text = identity.name(assignment.key)
    SubElement(domain, "uuid").text = identity.uuid(assignment.key)
    SubElement(domain, "title").text = f"{spec.namespace}/{spec.name} ({assignment.key})"
    SubElement(domain, "metadata").append(mark.element())
    _sizes(domain, spec, vm, facts)
    _boot(domain, vm, arch, files)
    features = SubElement(domain, "features")
    if facts.driver != "test":
        SubElement(features, "acpi")
    if vm.cpu_model is not None:
        _cpu(domain, vm.cpu_model)
    for name, does in (("on_poweroff", "destroy"), ("on_reboot", "restart"), ("on_crash", "preserve")):
        SubElement(domain, name).text = does
    _devices(domain, vm, arch, guest, files, cache)
    return ET.tostring(domain, encoding="unicode")


def migrated_xml(text: str, cpus_of: Mapping[str, str]) -> str:
    """A running domain for the hypervisor that it is migrated to: QEMU continues its console log, and a VM that stays
    in a NUMA cell gets the CPUs of that cell there (`cpus_of`: `HostFacts.cpu_lists`). Raises Refusal if there is
    none."""
    domain = ET.fromstring(text)  # noqa: S314 - libvirt wrote it
    for log in domain.iter("log"):
        log.set("append", "on")
    bound, cpus = domain.find("numatune/memory"), domain.find("vcpu")
    if bound is not None and cpus is not None:
        cpus.set("cpuset", _cpu_list(bound.get("nodeset", "0"), cpus_of))
    return ET.tostring(domain, encoding="unicode")


def _sizes(domain: Element, spec: Workload, vm: VirtualMachine, facts: HostFacts) -> None:
    asked = math.ceil(spec.resources.memory / KIB)
    most = asked if spec.limits.memory is None else max(asked, spec.limits.memory // KIB)
    if vm.huge_pages is not None:  # whole pages, and no more than were counted: QEMU takes all of them at once
        page_kib = vm.huge_pages.bytes // KIB
        asked = most = math.ceil(asked / page_kib) * page_kib
        pages = SubElement(SubElement(domain, "memoryBacking"), "hugepages")
        SubElement(pages, "page", size=str(page_kib), unit="KiB")
    SubElement(domain, "memory", unit="KiB").text = str(most)
    SubElement(domain, "currentMemory", unit="KiB").text = str(asked)
    cpus = SubElement(domain, "vcpu")
    cpus.text = str(max(1, math.ceil(spec.resources.cpu)))
    if vm.numa_cell is not None:
        SubElement(SubElement(domain, "numatune"), "memory", mode="strict", nodeset=str(vm.numa_cell))
        cpus.set("cpuset", _cpu_list(str(vm.numa_cell), facts.cpu_lists))
    if spec.limits.cpu is not None:
        tune = SubElement(domain, "cputune")
        SubElement(tune, "global_period").text = str(QUOTA_PERIOD_US)
        quota = max(LEAST_QUOTA_US, round(spec.limits.cpu * QUOTA_PERIOD_US))
        SubElement(tune, "global_quota").text = str(quota)


def _boot(domain: Element, vm: VirtualMachine, arch: str, files: VmFiles) -> None:
    boot = SubElement(domain, "os")
    if vm.firmware is not Firmware.BIOS:
        # Said in both cases: libvirt prefers Secure Boot, with which nothing boots that is not signed.
        boot.set("firmware", "efi")
        secure = "yes" if vm.firmware is Firmware.UEFI_SECURE else "no"
        features = SubElement(boot, "firmware")
        for name in ("secure-boot", "enrolled-keys"):
            SubElement(features, "feature", enabled=secure, name=name)
    machine = vm.machine or MACHINES.get(arch)
    SubElement(boot, "type", {"arch": arch, **({"machine": machine} if machine else {})}).text = "hvm"
    for name, value in (("kernel", files.kernel), ("initrd", files.initrd), ("cmdline", vm.kernel_args)):
        if value is not None:
            SubElement(boot, name).text = value
    if files.kernel is None:
        SubElement(boot, "boot", dev="hd")


def _cpu(domain: Element, model: str) -> None:
    if model in ("host-passthrough", "host-model", "maximum"):
        SubElement(domain, "cpu", mode=model)
    else:
        SubElement(SubElement(domain, "cpu", mode="custom", match="exact"), "model", fallback="forbid").text = model


def _devices(domain: Element, vm: VirtualMachine, arch: str, guest: GuestKind, files: VmFiles, cache: str) -> None:
    devices = SubElement(domain, "devices")
    if guest.emulator:
        SubElement(devices, "emulator").text = guest.emulator
    letters = dict.fromkeys(_PREFIXES.values(), 0)

    def add_disk(path: str, kind: str, bus: str, *, read_only: bool = False) -> None:
        disk = SubElement(devices, "disk", type="file", device="disk")
        SubElement(disk, "driver", name="qemu", type=kind, cache=cache)
        SubElement(disk, "source", file=path)
        prefix = _PREFIXES[bus]
        SubElement(disk, "target", dev=f"{prefix}{_DISK_LETTERS[letters[prefix]]}", bus=bus)
        letters[prefix] += 1
        if read_only:
            SubElement(disk, "readonly")

    if files.root is not None:
        add_disk(files.root, "qcow2", "virtio")
    for disk, (path, kind) in zip(vm.disks, files.disks, strict=True):
        add_disk(path, kind, disk.bus, read_only=disk.read_only)
    if files.seed is not None:
        add_disk(files.seed, "raw", "virtio", read_only=True)
    for network in vm.networks:
        _network(devices, network)
    if files.log is not None:
        serial = SubElement(devices, "serial", type="pty")
        SubElement(serial, "log", file=files.log, append="off")
        SubElement(serial, "target", port="0")
        console = SubElement(devices, "console", type="pty")
        SubElement(console, "target", type="serial", port="0")
    SubElement(devices, "memballoon", model="virtio")
    if arch == "x86_64" and files.log is not None:
        SubElement(devices, "panic", model="isa")


def _network(devices: Element, given: VirtualNetwork) -> None:
    card = SubElement(devices, "interface", type="network" if given.network is not None else "bridge")
    if given.network is not None:
        SubElement(card, "source", network=given.network)
    else:
        SubElement(card, "source", bridge=given.bridge or "")
    if given.mac is not None:
        SubElement(card, "mac", address=given.mac)
    SubElement(card, "model", type=given.model)
