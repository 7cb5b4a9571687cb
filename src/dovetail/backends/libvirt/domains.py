"""What is done to one domain of ours on a hypervisor. Blocking; called in threads, and safe to repeat."""

import contextlib
from typing import Any

import libvirt

from dovetail.backends.contract import Assignment, Refusal, WorkloadRefusal
from dovetail.backends.libvirt.deciding import SeenDomain
from dovetail.backends.libvirt.domain_state import find_domain, last_end, mark_of, power_of, write_mark
from dovetail.backends.libvirt.domain_xml import VmFiles, domain_xml, guest_kind
from dovetail.backends.libvirt.host_facts import HostFacts
from dovetail.backends.libvirt.naming import DomainIdentity, DomainMark
from dovetail.backends.libvirt.power import LastEnd, Power
from dovetail.backends.libvirt.storage import VmStorage

Virt = Any
UNDEFINE = (
    libvirt.VIR_DOMAIN_UNDEFINE_MANAGED_SAVE
    | libvirt.VIR_DOMAIN_UNDEFINE_SNAPSHOTS_METADATA
    | libvirt.VIR_DOMAIN_UNDEFINE_NVRAM
    | libvirt.VIR_DOMAIN_UNDEFINE_CHECKPOINTS_METADATA
)
_NEVER_STARTED = (LastEnd.UNKNOWN, LastEnd.FAILED)


class HostDomains:
    """`adopted`: the UUIDs of domains that were not made by us, by key."""

    def __init__(self, identity: DomainIdentity, storage: VmStorage, disk_cache: str) -> None:
        self.identity, self.storage, self._disk_cache = identity, storage, disk_cache
        self.adopted: dict[str, str] = {}
        self.facts: HostFacts | None = None

    @property
    def has_storage(self) -> bool:
        """The test driver of libvirt has no files."""
        return self.facts is None or self.facts.driver != "test"

    def find(self, virt: Virt, key: str) -> Virt | None:
        return find_domain(virt, self.adopted.get(key) or self.identity.uuid(key))

    def required(self, virt: Virt, key: str) -> Virt:
        """Raises Refusal if there is none."""
        domain = self.find(virt, key)
        if domain is None:
            raise Refusal(f"there is no domain of attempt {key}")
        return domain

    def seen(self, virt: Virt, key: str) -> SeenDomain | None:
        domain = self.find(virt, key)
        if domain is None:
            return None
        try:
            state, reason = domain.state()
            mark = mark_of(domain)
        except libvirt.libvirtError as error:
            if error.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN:
                return None
            raise
        power = power_of(state)
        if power is not Power.OFF:
            return SeenDomain(power, mark=mark)
        end = last_end(reason)
        if mark is not None and mark.adopted:
            return SeenDomain(power, end, mark=mark)
        if not self.has_storage:
            return SeenDomain(power, end, never_ran=end is LastEnd.UNKNOWN, mark=mark)
        if end in _NEVER_STARTED and self.storage.never_ran(virt, key):
            return SeenDomain(power, end, never_ran=True, mark=mark)
        return SeenDomain(power, end, mark=mark, console_end=self.storage.log_end(virt, key))

    def define(self, virt: Virt, assignment: Assignment, mark: DomainMark) -> None:
        """Make its volumes and its domain. Raises WorkloadRefusal."""
        assert self.facts is not None
        assert assignment.spec.vm is not None
        guest_kind(assignment.spec.vm, self.facts)
        files = self.storage.prepare(virt, assignment.key, assignment.spec) if self.has_storage else VmFiles()
        virt.defineXMLFlags(domain_xml(assignment, self.identity, mark, self.facts, files, self._disk_cache), 0)

    def adopt(self, virt: Virt, name: str, mark: DomainMark) -> None:
        """Mark a domain that runs as ours. Raises WorkloadRefusal."""
        try:
            domain = virt.lookupByName(name)
        except libvirt.libvirtError as error:
            if error.get_error_code() != libvirt.VIR_ERR_NO_DOMAIN:
                raise
            raise WorkloadRefusal(f"there is no domain with matching name {name!r} on this hypervisor") from error
        found = mark_of(domain)
        if found is not None and (found.key, found.cluster) != (mark.key, mark.cluster):
            raise WorkloadRefusal(f"domain {name!r} belongs to workload {found.workload} already")
        if not domain.isActive():
            raise WorkloadRefusal(f"domain {name!r} does not run; start it, then adopt it")
        if found is None:
            write_mark(domain, mark)
        self.adopted[mark.key] = str(domain.UUIDString())

    def start(self, virt: Virt, key: str) -> None:
        with already_so():
            self.required(virt, key).create()

    def ask_to_shut_down(self, virt: Virt, key: str) -> None:
        domain = self.find(virt, key)
        if domain is not None:
            with contextlib.suppress(libvirt.libvirtError):  # off, or without ACPI: its power is cut later
                domain.shutdown()

    def cut_power(self, virt: Virt, key: str) -> None:
        domain = self.find(virt, key)
        if domain is not None:
            with already_so():
                domain.destroy()

    def remove(self, virt: Virt, key: str, *, disks: bool = True) -> None:
        """The domain with its disks, unless they stay; the log stays. An adopted one only loses the mark: it is told by
        its UUID, as a removal at the same time may have taken the mark already."""
        domain = self.find(virt, key)
        if domain is not None and str(domain.UUIDString()) == str(self.identity.uuid(key)):
            with already_so():
                if domain.isActive():
                    domain.destroy()
            with already_so():
                domain.undefineFlags(UNDEFINE if self.has_storage else 0)
        elif domain is not None:
            with already_so():
                write_mark(domain, None)
            self.adopted.pop(key, None)
        if disks and self.has_storage:
            self.storage.remove(virt, {key})


@contextlib.contextmanager
def already_so() -> Any:
    """Ignores that a domain is gone, or in the state that it should be in."""
    try:
        yield
    except libvirt.libvirtError as error:
        if error.get_error_code() not in (libvirt.VIR_ERR_NO_DOMAIN, libvirt.VIR_ERR_OPERATION_INVALID):
            raise
