"""Decides the next step of one attempt from the journal and the hypervisor. Pure.

    domain            journal: ordered                 journal: stopping
    ----------------  -------------------------------  --------------------------------------
    none              define it; lost, if it existed   ended, as requested
                      and was removed by others
    never ran         start it                         ended, as requested; remove it
    runs, paused      at rest                          shut it down, then cut its power
    off on purpose    at rest                          ended, as requested; remove it
    panicked          failed                           ended, as requested
    could not start   refused                          ended, as requested
    off               ended with its exit code, or     the same, or as requested if we have
                      lost                             sent the stop

A guest that shuts itself down has succeeded, unless the last line on its console is `dovetail: exit N`. One whose power
was cut by others, or whose QEMU crashed, is lost.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from dovetail.backends.attempt_journal import Record, State
from dovetail.backends.libvirt.naming import DomainMark
from dovetail.backends.libvirt.power import LastEnd, Power

PANIC_EXIT = 1
_EXIT_LINE = re.compile(rb"dovetail: exit (\d{1,3})\s*\Z")


class DomainAction(StrEnum):
    DEFINE = "define"
    START = "start"
    STOP = "stop"
    REST = "rest"
    END = "end"
    REPORT = "report"


@dataclass(frozen=True, slots=True)
class SeenDomain:
    """`never_ran`: QEMU was never started for it. `console_end`: the last bytes of its console, if it is off."""

    power: Power
    last_end: LastEnd = LastEnd.UNKNOWN
    never_ran: bool = False
    mark: DomainMark | None = None
    console_end: bytes = b""


@dataclass(frozen=True, slots=True)
class DomainStep:
    """All fields but `action` belong to END. `ran`: the VM was started."""

    action: DomainAction
    exit_code: int | None = None
    reason: str = ""
    ran: bool = False


def decide(record: Record, seen: SeenDomain | None) -> DomainStep:
    if record.state is State.ENDED:
        return DomainStep(DomainAction.REPORT)
    stopping = record.state is State.STOPPING
    words = record.stop_reason or "stopped"
    asked = DomainStep(DomainAction.END, record.stop_code, words, ran=record.stop_sent)
    if seen is None:
        if stopping:
            return asked
        lost = DomainStep(DomainAction.END, None, "lost: its domain was removed by somebody else", ran=True)
        return lost if record.created else DomainStep(DomainAction.DEFINE)
    if seen.never_ran:
        return asked if stopping else DomainStep(DomainAction.START)
    if seen.power is Power.OFF and seen.last_end is LastEnd.FAILED:
        return asked if stopping else DomainStep(DomainAction.END, None, "it could not be started: QEMU ended at once")
    if seen.power in (Power.RUNNING, Power.PAUSED):
        return DomainStep(DomainAction.STOP if stopping else DomainAction.REST)
    if stopping and (record.stop_sent or seen.power is Power.PANICKED or _is_off_on_purpose(seen)):
        return DomainStep(DomainAction.END, record.stop_code, words, ran=True)
    if _is_off_on_purpose(seen):
        return DomainStep(DomainAction.REST)
    return how_it_ended(seen)


def _is_off_on_purpose(seen: SeenDomain) -> bool:
    return seen.power is Power.OFF and seen.mark is not None and seen.mark.off


def how_it_ended(seen: SeenDomain) -> DomainStep:
    def end(exit_code: int | None, reason: str) -> DomainStep:
        return DomainStep(DomainAction.END, exit_code, reason, ran=True)

    if seen.power is Power.PANICKED:
        return end(PANIC_EXIT, "the guest's kernel panicked; its console says why")
    if seen.last_end is LastEnd.DESTROYED:
        return end(None, "lost: its power was cut by somebody else")
    if seen.last_end is LastEnd.CRASHED:
        return end(None, "lost: its QEMU process ended")
    said = _EXIT_LINE.search(seen.console_end)
    if said is not None and seen.last_end in (LastEnd.SHUT_DOWN, LastEnd.UNKNOWN):
        code = int(said[1]) % 256
        return end(code, f"the guest shut down with exit status {code}")
    if seen.last_end is LastEnd.SHUT_DOWN:
        return end(0, "the guest shut itself down")
    return end(None, f"lost: it is off, and the hypervisor does not know why ({seen.last_end})")
