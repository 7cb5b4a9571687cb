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

from dovetail.backends.attempt_journal import Record, State
from dovetail.backends.hosts.attempt_step import AttemptAction, AttemptStep
from dovetail.backends.libvirt.naming import DomainMark
from dovetail.backends.libvirt.power import LastEnd, Power

PANIC_EXIT = 1
_EXIT_LINE = re.compile(rb"dovetail: exit (\d{1,3})\s*\Z")


@dataclass(frozen=True, slots=True)
class SeenDomain:
    """`never_ran`: QEMU was never started for it. `console_end`: the last bytes of its console, if it is off."""

    power: Power
    last_end: LastEnd = LastEnd.UNKNOWN
    never_ran: bool = False
    mark: DomainMark | None = None
    console_end: bytes = b""


def decide(record: Record, seen: SeenDomain | None) -> AttemptStep:
    if record.state is State.ENDED:
        return AttemptStep(AttemptAction.REPORT)
    stopping = record.state is State.STOPPING
    words = record.stop_reason or "stopped"
    asked = AttemptStep(AttemptAction.END, record.stop_code, words, ran=record.stop_sent, remove=True)
    if seen is None:
        if stopping:
            return asked
        if not record.created:
            return AttemptStep(AttemptAction.MAKE)
        lost = "lost: its domain was removed by somebody else"
        return AttemptStep(AttemptAction.END, None, lost, ran=True, remove=True)
    if seen.never_ran:
        return asked if stopping else AttemptStep(AttemptAction.START)
    if seen.power is Power.OFF and seen.last_end is LastEnd.FAILED:
        refused = AttemptStep(AttemptAction.END, None, "it could not be started: QEMU ended at once", remove=True)
        return asked if stopping else refused
    if seen.power in (Power.RUNNING, Power.PAUSED):
        return AttemptStep(AttemptAction.STOP if stopping else AttemptAction.REST)
    if stopping and (record.stop_sent or seen.power is Power.PANICKED or _is_off_on_purpose(seen)):
        return AttemptStep(AttemptAction.END, record.stop_code, words, ran=True, remove=True)
    if _is_off_on_purpose(seen):
        return AttemptStep(AttemptAction.REST)
    return how_it_ended(seen)


def _is_off_on_purpose(seen: SeenDomain) -> bool:
    return seen.power is Power.OFF and seen.mark is not None and seen.mark.off


def how_it_ended(seen: SeenDomain) -> AttemptStep:
    def end(exit_code: int | None, reason: str) -> AttemptStep:
        return AttemptStep(AttemptAction.END, exit_code, reason, ran=True, remove=True)

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
