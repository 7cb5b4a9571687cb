"""What being off saves: hours times watts, and only time in which the machine was seen off."""

from pathlib import Path

import pytest

from dovetail.backends.metal.controller import Accelerator, Drive, HardwareInventory, Nic
from dovetail.backends.metal.journal import MetalJournal
from dovetail.backends.metal.off_time import OffTime, saving_of
from dovetail.backends.metal.settings import EnergySettings, MetalMachine
from dovetail.testing.rig import in_event_loop

MACHINE = MetalMachine.model_validate(
    {"name": "m1", "bmc": {"redfish": "https://10.0.1.3", "user": "a", "password": "b"}, "watts": 450}
)


def test_only_time_between_two_looks_that_find_it_off_counts() -> None:
    time = OffTime()
    for now, off in ((0.0, False), (10.0, True), (20.0, True), (30.0, True), (40.0, False), (50.0, True)):
        time.saw("m1", now, "2026-11-17", off=off)
    assert time.total_s == {"m1": 20.0}
    assert time.take_unsaved() == {("m1", "2026-11-17"): 20.0}
    assert time.take_unsaved() == {}


def test_a_night_off_saves_energy_money_and_carbon() -> None:
    idle = MACHINE.model_copy(update={"idle_watts": 180.0})
    energy = EnergySettings(price_per_kwh=0.3, currency="EUR", carbon_g_per_kwh=380, overhead=1.5)
    saving = saving_of(idle, 10 * 3600, energy)
    assert (saving.off_hours, saving.watts) == (10, 180)
    assert saving.kwh == pytest.approx(2.7)
    assert saving.money == pytest.approx(0.81)
    assert saving.carbon_kg == pytest.approx(1.026)


def test_without_prices_only_energy_is_told() -> None:
    saving = saving_of(MACHINE, 3600, EnergySettings())
    assert saving.kwh == pytest.approx(0.45)
    assert saving.money is None
    assert saving.carbon_kg is None


@in_event_loop
async def test_off_times_add_up_over_restarts_and_inventories_are_kept(tmp_path: Path) -> None:
    found = HardwareInventory(
        serial="S1", cores=8, drives=[Drive("sda", 10)], nics=[Nic("eth0")], accelerators=[Accelerator("H100")]
    )
    for _ in range(2):
        journal = MetalJournal(tmp_path)
        await journal.open()
        await journal.add({("m1", "2026-11-16"): 60.0, ("m1", "2026-11-17"): 30.0, ("m2", "2026-11-17"): 1.5})
        await journal.put_inventory("m1", found)
        await journal.close()
    journal = MetalJournal(tmp_path)
    await journal.open()
    assert await journal.off_time() == ({"m1": 180.0, "m2": 3.0}, "2026-11-16")
    assert await journal.inventories() == {"m1": found}
    await journal.close()
