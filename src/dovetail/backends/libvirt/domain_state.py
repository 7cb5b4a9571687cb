"""A domain as its hypervisor describes it, and all domains of a hypervisor in one call. Blocking; called in threads."""

import contextlib
from dataclasses import dataclass
from typing import Any

import libvirt

from dovetail.backends.libvirt.naming import NAMESPACE, DomainMark, read_mark
from dovetail.backends.libvirt.power import LastEnd, Power

Virt = Any
KIB = 1024
_STATS = (
    libvirt.VIR_DOMAIN_STATS_STATE
    | libvirt.VIR_DOMAIN_STATS_CPU_TOTAL
    | libvirt.VIR_DOMAIN_STATS_BALLOON
    | libvirt.VIR_DOMAIN_STATS_VCPU
    | libvirt.VIR_DOMAIN_STATS_INTERFACE
    | libvirt.VIR_DOMAIN_STATS_BLOCK
)
_OFF = (libvirt.VIR_DOMAIN_SHUTOFF, libvirt.VIR_DOMAIN_NOSTATE)


_ENDS = {
    libvirt.VIR_DOMAIN_SHUTOFF_SHUTDOWN: LastEnd.SHUT_DOWN,
    libvirt.VIR_DOMAIN_SHUTOFF_DESTROYED: LastEnd.DESTROYED,
    libvirt.VIR_DOMAIN_SHUTOFF_CRASHED: LastEnd.CRASHED,
    libvirt.VIR_DOMAIN_SHUTOFF_MIGRATED: LastEnd.MIGRATED,
    libvirt.VIR_DOMAIN_SHUTOFF_FAILED: LastEnd.FAILED,
}


def power_of(state: int) -> Power:
    if state in _OFF:
        return Power.OFF
    if state == libvirt.VIR_DOMAIN_CRASHED:
        return Power.PANICKED
    return Power.PAUSED if state in (libvirt.VIR_DOMAIN_PAUSED, libvirt.VIR_DOMAIN_PMSUSPENDED) else Power.RUNNING


def last_end(reason: int) -> LastEnd:
    return _ENDS.get(reason, LastEnd.UNKNOWN)


@dataclass(frozen=True, slots=True)
class DomainStats:
    """One domain in a list of all. Counters are since its start."""

    name: str
    uuid: str
    power: Power
    cpus: int
    memory_bytes: int
    cpu_time_s: float = 0.0
    resident_bytes: int | None = None  # of the QEMU process, or what the balloon leaves to the guest
    disk_read_bytes: int = 0
    disk_written_bytes: int = 0
    network_received_bytes: int = 0
    network_sent_bytes: int = 0


def all_domains(virt: Virt) -> list[DomainStats]:
    """Those that run and those that are off, of everybody."""
    try:
        flags = libvirt.VIR_CONNECT_GET_ALL_DOMAINS_STATS_NOWAIT  # do not wait for one that is busy
        found = virt.getAllDomainStats(_STATS, flags)
    except libvirt.libvirtError as error:
        if error.get_error_code() not in (libvirt.VIR_ERR_NO_SUPPORT, libvirt.VIR_ERR_INVALID_ARG):
            raise
        return _one_by_one(virt)
    return [_from_stats(domain, stats) for domain, stats in found]


def _from_stats(domain: Virt, stats: dict[str, int]) -> DomainStats:
    def total(group: str, field: str) -> int:
        return sum(
            int(stats.get(f"{group}.{place}.{field}", 0)) for place in range(int(stats.get(f"{group}.count", 0)))
        )

    resident = stats.get("balloon.rss", stats.get("balloon.current"))
    return DomainStats(
        name=str(domain.name()),
        uuid=str(domain.UUIDString()),
        power=power_of(int(stats.get("state.state", 0))),
        cpus=int(stats.get("vcpu.current", stats.get("vcpu.maximum", 1))),
        memory_bytes=int(stats.get("balloon.maximum", stats.get("balloon.current", 0))) * KIB,
        cpu_time_s=int(stats.get("cpu.time", 0)) / 1e9,
        resident_bytes=None if resident is None else int(resident) * KIB,
        disk_read_bytes=total("block", "rd.bytes"),
        disk_written_bytes=total("block", "wr.bytes"),
        network_received_bytes=total("net", "rx.bytes"),
        network_sent_bytes=total("net", "tx.bytes"),
    )


def _one_by_one(virt: Virt) -> list[DomainStats]:
    found = []
    for domain in virt.listAllDomains():
        with contextlib.suppress(libvirt.libvirtError):  # it is gone meanwhile
            state, most_kib, memory_kib, cpus, cpu_time_ns = domain.info()
            power = power_of(state)
            uuid, name = str(domain.UUIDString()), str(domain.name())
            found.append(
                DomainStats(name, uuid, power, int(cpus), int(most_kib) * KIB, cpu_time_ns / 1e9, int(memory_kib) * KIB)
            )
    return found


def find_domain(virt: Virt, uuid: str) -> Virt | None:
    try:
        return virt.lookupByUUIDString(uuid)
    except libvirt.libvirtError as error:
        if error.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN:
            return None
        raise


def mark_of(domain: Virt) -> DomainMark | None:
    """The mark in its metadata."""
    try:
        return read_mark(domain.metadata(libvirt.VIR_DOMAIN_METADATA_ELEMENT, NAMESPACE, 0))
    except libvirt.libvirtError as error:
        if error.get_error_code() in (libvirt.VIR_ERR_NO_DOMAIN_METADATA, libvirt.VIR_ERR_NO_DOMAIN):
            return None
        raise


def write_mark(domain: Virt, mark: DomainMark | None) -> None:
    """None removes it. In the running domain, and in its definition if it has one."""
    flags = libvirt.VIR_DOMAIN_AFFECT_LIVE if domain.isActive() else 0
    flags |= libvirt.VIR_DOMAIN_AFFECT_CONFIG if domain.isPersistent() else 0
    text = None if mark is None else mark.xml()
    kind = libvirt.VIR_DOMAIN_METADATA_ELEMENT
    try:
        domain.setMetadata(kind, text, None if text is None else "dovetail", NAMESPACE, flags)
    except libvirt.libvirtError as error:
        if mark is not None or error.get_error_code() != libvirt.VIR_ERR_NO_DOMAIN_METADATA:
            raise
