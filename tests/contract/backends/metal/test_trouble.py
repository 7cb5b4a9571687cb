"""A controller that hangs, lies, answers nonsense or refuses logins takes its own machine out, and no other. Machines
are powered off when they are idle, and what that saves is kept."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.contract.backends.conformance import Subject
from tests.contract.backends.machines.room import NoTokens, scripted_work
from tests.contract.backends.metal.faulty_service import FaultyService
from tests.contract.backends.metal.metal_room import MACHINES, MetalInRoom, in_room, provider_of, settings_of
from tests.servers.redfish import RedfishServer, redfish_server

from dovetail.backends.contract import Assignment, Refusal
from dovetail.backends.metal import watch as watching
from dovetail.backends.metal.settings import MetalSettings
from dovetail.model.event import BindFailed, NodeHealthChanged, TaskFinished
from dovetail.testing.rig import CollectedReports, Rig, in_event_loop

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("metal")]


@pytest.fixture(scope="module")
def redfish() -> Iterator[RedfishServer]:
    with redfish_server(*MACHINES) as server:
        yield server


class MetalScene:
    def __init__(self, backend: MetalInRoom, faulty: FaultyService, reports: CollectedReports, rig: Rig) -> None:
        self.backend, self.faulty, self.reports, self.rig = backend, faulty, reports, rig

    def work_on(self, node: str, run_s: float = 3600.0) -> Assignment:
        return replace(self.rig.new_work(run_s=run_s), node=node)

    async def running_on(self, node: str) -> Assignment:
        work = self.work_on(node)
        await self.backend.bind(work)
        await self.rig.running(work.key)
        return work

    async def until(self, holds: Callable[[], bool], what: str) -> None:
        await self.reports.until_true(holds, what)

    def has_ended(self, work: Assignment) -> bool:
        return any(end.key == work.key for end in self.reports.of(TaskFinished))

    def offline_because(self, node: str) -> str:
        changes = [event for event in self.reports.of(NodeHealthChanged) if event.name == node]
        return changes[-1].reason if changes and not self.reports.online(node) else ""

    async def others_work(self) -> None:
        """Machine m2 is powered on and runs something."""
        work = self.work_on("m2", 0.0)
        await self.backend.bind(work)
        await self.reports.until(TaskFinished, work.key)


@asynccontextmanager
async def metal_scene(redfish: RedfishServer, folder: Path, **more: Any) -> AsyncIterator[MetalScene]:
    """m1 behind a service that may be at fault, m2 and m3 behind the emulator."""
    redfish.all_off()
    with FaultyService(redfish).serving() as faulty:
        bmcs = {name: redfish.bmc(name, faulty.url if name == "m1" else None) for name in MACHINES}
        backend = MetalInRoom("metal", settings_of(bmcs, **more), folder)
        backend.room = in_room(redfish.on)
        backend.use_credentials(NoTokens())
        subject = Subject(lambda: backend, scripted_work)
        reports = CollectedReports(subject)
        await backend.start(reports.report)
        try:
            all_online = lambda: all(map(reports.online, MACHINES))  # noqa: E731
            await reports.until_true(all_online, "all machines")  # who answers late is introduced after the start
            yield MetalScene(backend, faulty, reports, Rig(subject, backend, reports))
        finally:
            faulty.ending.set()
            await backend.close()


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("hangs", "did not answer within 4 s"),
        ("nonsense", "answers nonsense"),
        ("login", "refuses the login of operator"),
    ],
)
@in_event_loop
async def test_a_controller_in_trouble_takes_out_its_machine_only_until_it_is_well(
    redfish: RedfishServer, tmp_path: Path, fault: str, words: str
) -> None:
    async with metal_scene(redfish, tmp_path, answer_within="4s") as at:  # a busy machine answers late, and is well
        long = await at.running_on("m1")
        at.faulty.fault = fault
        await at.until(lambda: words in at.offline_because("m1"), "m1 offline")
        with pytest.raises(Refusal):
            await at.backend.bind(at.work_on("m1"))
        await at.others_work()
        await at.until(lambda: at.reports.online("m2"), "m2 online")
        assert at.backend.keeps_offline("m1")
        assert not at.has_ended(long), "it may run on there"
        at.faulty.fault = ""
        at.faulty.ending.set()
        await at.until(lambda: at.reports.online("m1"), "m1 back")
        assert not at.backend.keeps_offline("m1")
        assert at.backend.room.runs(long.key)


@in_event_loop
async def test_work_for_a_machine_that_does_not_come_up_goes_elsewhere(redfish: RedfishServer, tmp_path: Path) -> None:
    async with metal_scene(redfish, tmp_path, power_within="3s", distrust="5s") as at:
        at.faulty.fault = "lies"
        work = at.work_on("m1", 0.0)
        await at.backend.bind(work)
        failed = await at.reports.until(BindFailed, work.key)
        assert "accepted to power on m1, but says after 3 s that it is not on" in failed.reason
        await at.until(lambda: "accepted to power on m1" in at.offline_because("m1"), "m1 offline")
        await at.others_work()
        at.faulty.fault = ""
        await at.until(lambda: at.reports.online("m1"), "m1 trusted again")


@in_event_loop
async def test_off_is_not_believed_of_a_machine_whose_agent_is_heard(
    redfish: RedfishServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "UNDER_WAY_S", 0.5)
    async with metal_scene(redfish, tmp_path) as at:
        long = await at.running_on("m1")
        at.faulty.fault = "says-off"
        await at.until(lambda: "says that m1 is off, but its agent was heard" in at.offline_because("m1"), "the lie")
        assert not at.has_ended(long), "it runs on there"
        at.faulty.fault = ""
        await at.until(lambda: at.reports.online("m1"), "m1 back")


@in_event_loop
async def test_work_on_a_machine_that_lost_its_power_is_lost(
    redfish: RedfishServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "SILENT_S", 0.5)
    async with metal_scene(redfish, tmp_path) as at:
        long = await at.running_on("m1")
        redfish.set_power("m1", "ForceOff")
        end = await at.rig.finished(long.key)
        assert end.exit_code is None
        assert "m1 has ended: it was powered off" in end.reason


@in_event_loop
async def test_a_machine_whose_agent_is_never_heard_is_powered_off_and_left_alone(
    redfish: RedfishServer, tmp_path: Path
) -> None:
    async def nobody() -> dict[str, str]:
        return {}

    async with metal_scene(redfish, tmp_path, boot_within="1s") as at:
        at.backend.room.running = nobody
        work = at.work_on("m1")
        await at.backend.bind(work)
        end = await at.rig.finished(work.key)
        assert "runs, but its agent did not join within 1 s" in end.reason
        await at.until(lambda: "did not join within 1 s" in at.offline_because("m1"), "m1 offline")
        await at.until(lambda: redfish.power("m1") == "off", "m1 off")


@in_event_loop
async def test_idle_machines_are_powered_off_and_the_saving_survives_a_restart(
    redfish: RedfishServer, tmp_path: Path
) -> None:
    energy = {"price_per_kwh": 0.3, "currency": "EUR", "carbon_g_per_kwh": 400}
    async with metal_scene(redfish, tmp_path, idle="300ms", energy=energy) as at:
        await at.others_work()
        await at.until(lambda: redfish.power("m2") == "off", "m2 off again")
        await at.until(lambda: at.backend.savings()[0][1].off_hours > 0, "time that counts")
    async with metal_scene(redfish, tmp_path, idle="300ms", energy=energy) as later:
        kept = later.backend.savings()[0][2]
        assert kept.machine == "m3"
        assert kept.off_hours > 0
        await later.until(lambda: later.backend.savings()[0][2].off_hours > kept.off_hours, "more of it")


@in_event_loop
async def test_work_that_comes_while_a_machine_is_powered_off_runs_when_it_is_on_again(
    redfish: RedfishServer, tmp_path: Path
) -> None:
    async with metal_scene(redfish, tmp_path, idle="100ms") as at:
        for _ in range(5):
            await at.others_work()
        await at.until(lambda: redfish.power("m2") == "off", "m2 off at last")


@in_event_loop
async def test_machines_stay_on_where_the_settings_say_so(redfish: RedfishServer, tmp_path: Path) -> None:
    async with metal_scene(redfish, tmp_path, idle="0s", power_off="never") as at:
        await at.others_work()
        looked_at = at.backend.status_of("m2").answered_at or 0.0
        await at.until(lambda: (at.backend.status_of("m2").answered_at or 0.0) > looked_at + 1, "some looks")
        assert redfish.power("m2") == "on"


@in_event_loop
async def test_a_machine_without_a_capacity_has_that_of_its_inventory_and_its_rack_is_a_label(
    redfish: RedfishServer, tmp_path: Path
) -> None:
    machines = [{"name": "m1", "bmc": redfish.bmc("m1"), "rack": "r7"}]
    provider = provider_of(MetalSettings.model_validate({"machines": machines}), tmp_path)
    (kind,) = await provider.types()
    assert (kind.node.capacity.cpu, kind.node.capacity.memory) == (16, 64 * 2**30)
    assert kind.node.labels["rack"] == "r7"
    await provider.close()
    with redfish.daemon.paused():  # what is known is known after a restart
        again = provider_of(MetalSettings.model_validate({"machines": machines, "answer_within": "1s"}), tmp_path)
        assert [one.node.capacity for one in await again.types()] == [kind.node.capacity]
        await again.close()
