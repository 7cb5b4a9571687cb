"""Machines with our mark that nobody knows of: how long each has been seen, and which are to be ended. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from dovetail.backends.machines.provider import Machine


@dataclass(slots=True)
class Orphans:
    reap_after_s: float
    _since: dict[str, float] = field(default_factory=dict)

    def overdue(self, seen: Iterable[Machine], now: float) -> list[Machine]:
        """Those that have been there too long; call it with all that are there."""
        machines = {one.id: one for one in seen}
        self._since = {name: self._since.get(name, now) for name in machines}
        return [one for name, one in machines.items() if now - self._since[name] >= self.reap_after_s]
