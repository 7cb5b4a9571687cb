"""Which spot machines Google took back. It deletes them, so that only the operation `compute.instances.preempted` tells
why they are gone; those that were seen before are told as ended, with that reason, for a while."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from dovetail.backends.machines.provider import Machine, MachineState

TOLD_FOR_S = 600.0
NOTICE_S = 30.0  # from the notice to the end, at least
OPERATION = "compute.instances.preempted"
PREEMPTED = "Google took the spot machine back (preempted)"


@dataclass(slots=True)
class Preemptions:
    """`known`: spot machines that run, by id. `told`: those that were taken back, and until when that is told."""

    monotonic_s: Callable[[], float] = time.monotonic
    known: dict[str, Machine] = field(default_factory=dict)
    told: dict[str, tuple[Machine, float]] = field(default_factory=dict)

    def suspects(self, spot: Iterable[Machine]) -> set[str]:
        """Of the spot machines that there are now, and that there were: the ids of those that may have been taken."""
        now = {one.id: one for one in spot}
        stopping = {name for name, one in now.items() if one.state in (MachineState.ENDING, MachineState.STOPPED)}
        gone = {name for name in self.known if name not in now}
        return gone | stopping

    def take(self, spot: Iterable[Machine], preempted: set[str]) -> list[Machine]:
        """Remember what there is; returns all machines that were taken back and are gone. `preempted`: names of those
        that Google says it has taken."""
        there = {one.id: one for one in spot}
        now = self.monotonic_s()
        for name, one in self.known.items():
            if name not in there and name.rsplit("/", 1)[-1] in preempted:
                ended = replace(one, state=MachineState.ENDED, reason=PREEMPTED, ends_at=None)
                self.told[name] = ended, now + TOLD_FOR_S
        self.known = there
        self.told = {name: entry for name, entry in self.told.items() if entry[1] > now and name not in there}
        return [one for one, _ in self.told.values()]


def with_notice(machine: Machine, preempted: set[str], now: float) -> Machine:
    """One that is being taken back says so, so that its work is moved."""
    if machine.id.rsplit("/", 1)[-1] not in preempted:
        return machine
    return replace(machine, reason=PREEMPTED, ends_at=now + NOTICE_S)
