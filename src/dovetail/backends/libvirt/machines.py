"""What users do to VMs beside their workloads: power, snapshots. Blocking; called in threads."""

from datetime import UTC, datetime
from typing import Any
from xml.etree import ElementTree as ET

import libvirt

from dovetail.backends.contract import Refusal
from dovetail.backends.libvirt.domain_state import mark_of, power_of, write_mark
from dovetail.backends.libvirt.domains import already_so
from dovetail.backends.libvirt.power import Power
from dovetail.backends.vm_control import MachinePower, MachineSnapshot

Domain = Any


def set_power(domain: Domain, power: MachinePower) -> None:
    """Repeating it changes nothing. Before a VM is switched off its mark says so: else its end would be an end of the
    attempt."""
    mark = mark_of(domain)
    runs = power_of(domain.state()[0]) is not Power.OFF
    if mark is None:
        raise Refusal(f"domain {domain.name()} is not one of ours")
    match power:
        case MachinePower.ON:
            if not runs:
                with already_so():
                    domain.create()
            if mark.off:
                write_mark(domain, mark.switched(off=False))
        case MachinePower.OFF | MachinePower.CUT:
            if not mark.off:
                write_mark(domain, mark.switched(off=True))
            with already_so():
                domain.shutdown() if power is MachinePower.OFF else domain.destroy()
        case MachinePower.REBOOT | MachinePower.RESET:
            if not runs:
                raise Refusal("it is off; switch it on")
            domain.reboot() if power is MachinePower.REBOOT else domain.reset()


def list_snapshots(domain: Domain) -> list[MachineSnapshot]:
    found = []
    for one in domain.listAllSnapshots():
        described = ET.fromstring(one.getXMLDesc())  # noqa: S314 - libvirt wrote it
        state = described.findtext("state") or ""
        power = {"running": "running", "shutoff": "off", "paused": "paused"}.get(state, state)
        made_at = float(described.findtext("creationTime") or 0)
        found.append(MachineSnapshot(str(one.getName()), made_at, power, bool(one.isCurrent())))
    return sorted(found, key=lambda one: one.made_at)


def take_snapshot(domain: Domain, name: str) -> None:
    if _find(domain, name) is not None:
        return
    snapshot = ET.Element("domainsnapshot")
    ET.SubElement(snapshot, "name").text = name
    words = f"taken by Dovetail at {datetime.now(UTC).isoformat(timespec='seconds')}"
    ET.SubElement(snapshot, "description").text = words
    domain.snapshotCreateXML(ET.tostring(snapshot, encoding="unicode"), 0)


def revert_to_snapshot(domain: Domain, name: str) -> None:
    """A snapshot has the memory of its time, so the VM runs on from there, or is off as it was."""
    found = _find(domain, name)
    if found is None:
        known = ", ".join(one.name for one in list_snapshots(domain)) or "none"
        raise Refusal(f"there is no snapshot {name!r}; there is: {known}")
    mark = mark_of(domain)
    domain.revertToSnapshot(found, 0)
    if mark is not None:  # a snapshot may bring back an older mark
        off = power_of(domain.state()[0]) is Power.OFF
        write_mark(domain, mark.switched(off=off))


def remove_snapshot(domain: Domain, name: str) -> None:
    found = _find(domain, name)
    if found is not None:
        found.delete(0)


def _find(domain: Domain, name: str) -> Any:
    try:
        return domain.snapshotLookupByName(name)
    except libvirt.libvirtError as error:
        if error.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN_SNAPSHOT:
            return None
        raise
