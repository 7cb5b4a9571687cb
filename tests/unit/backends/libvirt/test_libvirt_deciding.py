"""The next step of an attempt, from the journal and the hypervisor alone; needs no libvirt."""

import pytest

from dovetail.backends.attempt_journal import Record, State
from dovetail.backends.hosts.attempt_step import AttemptAction
from dovetail.backends.libvirt.deciding import SeenDomain, decide
from dovetail.backends.libvirt.naming import DomainIdentity, DomainMark, read_mark
from dovetail.backends.libvirt.power import LastEnd, Power

MARK = DomainMark("c", "vms", "1.0.1")
ORDERED = Record("1.0.1", "hv1", State.ORDERED, created=True)
STOPPING = Record("1.0.1", "hv1", State.STOPPING, created=True, stop_reason="enough", stop_sent=True)


def off(end: LastEnd, console: bytes = b"", mark: DomainMark = MARK) -> SeenDomain:
    return SeenDomain(Power.OFF, end, mark=mark, console_end=console)


@pytest.mark.parametrize(
    ("record", "seen", "action", "exit_code"),
    [
        (Record("1.0.1", "hv1", State.ORDERED), None, AttemptAction.MAKE, None),
        (ORDERED, None, AttemptAction.END, None),
        (ORDERED, SeenDomain(Power.OFF, never_ran=True, mark=MARK), AttemptAction.START, None),
        (ORDERED, SeenDomain(Power.RUNNING, mark=MARK), AttemptAction.REST, None),
        (ORDERED, SeenDomain(Power.PANICKED, mark=MARK), AttemptAction.END, 1),
        (ORDERED, off(LastEnd.SHUT_DOWN), AttemptAction.END, 0),
        (ORDERED, off(LastEnd.SHUT_DOWN, b"bye\r\ndovetail: exit 004\r\n"), AttemptAction.END, 4),
        (ORDERED, off(LastEnd.SHUT_DOWN, b"dovetail: exit 4\nnot the last line"), AttemptAction.END, 0),
        (ORDERED, off(LastEnd.UNKNOWN, b"dovetail: exit 4\n"), AttemptAction.END, 4),
        (ORDERED, off(LastEnd.UNKNOWN), AttemptAction.END, None),
        (ORDERED, off(LastEnd.DESTROYED, b"dovetail: exit 4\n"), AttemptAction.END, None),
        (ORDERED, off(LastEnd.CRASHED), AttemptAction.END, None),
        (ORDERED, off(LastEnd.FAILED), AttemptAction.END, None),
        (ORDERED, off(LastEnd.DESTROYED, mark=MARK.switched(off=True)), AttemptAction.REST, None),
        (STOPPING, SeenDomain(Power.RUNNING, mark=MARK), AttemptAction.STOP, None),
        (STOPPING, off(LastEnd.SHUT_DOWN), AttemptAction.END, None),
        (STOPPING, off(LastEnd.SHUT_DOWN, mark=MARK.switched(off=True)), AttemptAction.END, None),
        (STOPPING, None, AttemptAction.END, None),
        (Record("1.0.1", "hv1", State.ENDED), None, AttemptAction.REPORT, None),
    ],
)
def test_the_next_step(record: Record, seen: SeenDomain | None, action: AttemptAction, exit_code: int | None) -> None:
    step = decide(record, seen)
    assert (step.action, step.exit_code) == (action, exit_code)


def test_a_vm_that_ended_before_the_stop_was_sent_keeps_its_exit_code() -> None:
    asked = Record("1.0.1", "hv1", State.STOPPING, created=True, stop_reason="enough")
    assert decide(asked, off(LastEnd.SHUT_DOWN, b"dovetail: exit 3\n")).exit_code == 3


def test_a_mark_survives_its_xml() -> None:
    mark = DomainMark("c", "vms", "1.0.1", "we<b", "default", 1.5, 60.0, 17.25, adopted=True, off=True)
    assert read_mark(mark.xml()) == mark
    assert read_mark("<task/>") is None


def test_names_and_uuids_follow_from_the_key_and_tell_ours_from_others() -> None:
    ours, other = DomainIdentity("c", "vms"), DomainIdentity("d", "vms")
    name, uuid = ours.name("1.0.1"), ours.uuid("1.0.1")
    assert ours.key_of_name(name, uuid) == "1.0.1"
    assert other.key_of_name(name, uuid) is None
    assert ours.key_of_name(name, other.uuid("1.0.1")) is None, "somebody gave a domain our name"
    assert ours.key_of_volume(f"{name}-1.qcow2") == "1.0.1"
