"""How long machines were off, and what that saved. Pure.

Time counts between two looks that both found a machine off, of one run of the server: what nobody saw is not counted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dovetail.backends.metal.settings import EnergySettings, MetalMachine

HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class Saving:
    """`money` and `carbon_kg` None: the settings do not say what a kilowatt-hour costs or causes."""

    machine: str
    off_hours: float
    watts: float
    kwh: float
    money: float | None
    carbon_kg: float | None


@dataclass(slots=True)
class OffTime:
    """`total_s`: by machine. `unsaved_s`: the part of it that is not in the journal yet, by machine and day."""

    total_s: dict[str, float] = field(default_factory=dict)
    unsaved_s: dict[tuple[str, str], float] = field(default_factory=dict)
    _off_at: dict[str, float] = field(default_factory=dict)  # when it was last seen off

    def saw(self, machine: str, now: float, day: str, *, off: bool) -> None:
        """`now`: by a clock that nobody can set. `day`: of the calendar, such as 2026-11-17."""
        before = self._off_at.pop(machine, None)
        if not off:
            return
        self._off_at[machine] = now
        if before is not None and now > before:
            self.total_s[machine] = self.total_s.get(machine, 0.0) + now - before
            self.unsaved_s[machine, day] = self.unsaved_s.get((machine, day), 0.0) + now - before

    def take_unsaved(self) -> dict[tuple[str, str], float]:
        taken, self.unsaved_s = self.unsaved_s, {}
        return taken


def saving_of(machine: MetalMachine, off_s: float, energy: EnergySettings) -> Saving:
    hours, watts = off_s / HOUR_S, machine.saved_watts
    kwh = hours * watts * energy.overhead / 1000
    money = None if energy.price_per_kwh is None else kwh * energy.price_per_kwh
    carbon_kg = None if energy.carbon_g_per_kwh is None else kwh * energy.carbon_g_per_kwh / 1000
    return Saving(machine.name, hours, watts, kwh, money, carbon_kg)


def savings_of(machines: list[MetalMachine], off_s: Mapping[str, float], energy: EnergySettings) -> list[Saving]:
    """Of every machine, in order of the settings."""
    return [saving_of(one, off_s.get(one.name, 0.0), energy) for one in machines]
