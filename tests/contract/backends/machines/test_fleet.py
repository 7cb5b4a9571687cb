"""Machines that are launched for work keep the promises of every backend, and none is launched twice or forgotten."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contract.backends.conformance import BackendConformance, Subject
from tests.contract.backends.machines.memory_provider import MemoryProvider, machine_type
from tests.contract.backends.machines.room import (
    JOIN,
    BackendInRoom,
    MachineRoom,
    NoTokens,
    backend_in_room,
    subject_in_room,
)

from dovetail.backends.contract import Refusal
from dovetail.backends.machines.provider import LaunchRefused, Machine, MachineState, RefusalKind
from dovetail.backends.machines.settings import MachineSettings
from dovetail.model.event import BindFailed, NodeDrained, NodeJoined, NodeLeft, TaskFinished, TaskStarted
from dovetail.model.failure_cause import FailureCause
from dovetail.testing.rig import CollectedReports, Rig, in_event_loop


class TestMachineBackend(BackendConformance):
    """Its machines exist in memory; those of each cloud have a suite of their own."""

    @pytest.fixture
    def subject(self, tmp_path: Path) -> Subject:
        provider = MemoryProvider([machine_type("small"), machine_type("large", 2.0)])
        return subject_in_room(
            lambda: provider, MachineRoom(provider.running, look_s=0.01), tmp_path, provider.unreachable
        )


class Scene:
    def __init__(
        self,
        folder: Path,
        provider: MemoryProvider,
        settings: MachineSettings,
        *,
        joins: bool = True,
        boot_within: float | None = None,
    ) -> None:
        self.provider, self.folder, self.settings = provider, folder, settings
        self.room = MachineRoom(provider.running, look_s=0.01)
        self.joins, self.boot_within = joins, boot_within
        subject = subject_in_room(lambda: provider, self.room, folder, provider.unreachable)
        self.reports = CollectedReports(subject)
        self.rig = Rig(subject, self.backend(), self.reports)

    def backend(self) -> BackendInRoom:
        join = JOIN if self.joins else None
        return backend_in_room(self.provider, self.room, self.folder, self.settings, join, self.boot_within)

    @property
    def running(self) -> list[Machine]:
        return [one for one in self.provider.there.values() if one.state is MachineState.RUNNING]

    async def until(self, holds: Callable[[], bool], what: str) -> None:
        await self.reports.until_true(holds, what)


@asynccontextmanager
async def scene(
    folder: Path,
    provider: MemoryProvider | None = None,
    *,
    idle: float = 3600.0,
    reap_after: float = 3600.0,
    joins: bool = True,
    boot_within: float | None = None,
) -> AsyncIterator[Scene]:
    made = Scene(
        folder,
        provider or MemoryProvider([machine_type("small")]),
        MachineSettings(poll=0.05, idle=idle, reap_after=reap_after),
        joins=joins,
        boot_within=boot_within,
    )
    await made.rig.backend.start(made.reports.report)
    try:
        yield made
    finally:
        await made.rig.backend.close()


@in_event_loop
async def test_a_machine_is_launched_for_work_reused_while_warm_and_ended_when_idle(tmp_path: Path) -> None:
    async with scene(tmp_path, idle=0.3) as at:
        assert at.provider.launched == 0
        first = await at.rig.start_new(run_s=0.0)
        await at.rig.finished(first.key)
        again = await at.rig.start_new(run_s=0.0)
        await at.rig.finished(again.key)
        assert at.provider.launched == 1
        await at.until(lambda: not at.running, "the end of the idle machine")
        assert "small-1" in [event.name for event in at.reports.of(NodeLeft)]
        await at.until(lambda: at.reports.nodes[0].name == "small-1", "the same name is offered again")


@in_event_loop
async def test_the_script_of_a_machine_joins_as_its_node_with_a_token_of_its_own(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        await at.rig.start_new()
        script = at.provider.scripts[0]
        assert "agent --join http://127.0.0.1:1 --name small-1 " in script
        assert "DOVETAIL_TOKEN=join-small-1" in script


@in_event_loop
async def test_a_node_that_is_used_is_followed_by_another_and_says_that_it_runs(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        await at.rig.start_new()
        running = {node.name: node.offer.running for node in at.reports.nodes if node.offer}
        assert running["small-1"] is True
        assert running["small-2"] is False


@in_event_loop
async def test_a_limit_and_a_quota_are_kept(tmp_path: Path) -> None:
    provider = MemoryProvider([machine_type("small", limit=1), machine_type("large", quota="cpu", quota_units=8.0)])
    settings = MachineSettings(poll=0.05, quotas={"cpu": 7})
    made = Scene(tmp_path, provider, settings)
    await made.rig.backend.start(made.reports.report)
    await made.rig.start_new()
    assert [node.name for node in made.reports.nodes] == ["small-1"]
    await made.rig.backend.close()


@in_event_loop
async def test_there_are_never_more_machines_than_the_settings_allow(tmp_path: Path) -> None:
    provider = MemoryProvider([machine_type("small"), machine_type("large")])
    made = Scene(tmp_path, provider, MachineSettings(poll=0.05, max_machines=1))
    await made.rig.backend.start(made.reports.report)
    offered = [node.name for node in made.reports.nodes]
    assert offered == ["small-1", "large-1"]
    await made.rig.backend.bind(replace(made.rig.new_work(run_s=3600.0), node="small-1"))
    with pytest.raises(Refusal, match="large-1"):  # it was offered when the work was placed
        await made.rig.backend.bind(replace(made.rig.new_work(run_s=3600.0), node="large-1"))
    await made.until(lambda: [event.name for event in made.reports.of(NodeLeft)] == ["large-1"], "the end of the offer")
    await made.until(lambda: provider.launched == 1, "the one machine")
    await made.rig.backend.close()


@in_event_loop
async def test_a_launch_whose_answer_is_lost_leaves_one_machine(tmp_path: Path) -> None:
    async with scene(tmp_path, MemoryProvider([machine_type("small")], breaks=1)) as at:
        await at.rig.start_new()
        assert at.provider.launched == 1


@in_event_loop
async def test_a_launch_that_is_repeated_keeps_the_script_and_with_it_the_token_of_the_machine(tmp_path: Path) -> None:
    made: list[str] = []

    class CountedTokens(NoTokens):
        async def join_token(self, node: str, valid_s: float) -> str:
            made.append(node)
            return f"join-{len(made)}"

    async with scene(tmp_path, MemoryProvider([machine_type("small")], breaks=1)) as at:
        backend = at.rig.backend
        assert isinstance(backend, BackendInRoom)
        backend.use_credentials(CountedTokens())
        await at.rig.start_new()
        assert made == ["small-1"]
        assert "join-1" in at.provider.scripts[0]


@in_event_loop
async def test_what_the_provider_has_not_is_not_offered_for_a_while_and_the_work_goes_elsewhere(tmp_path: Path) -> None:
    provider = MemoryProvider([machine_type("small"), machine_type("large")])
    provider.refuses["small"] = LaunchRefused(RefusalKind.STOCK_OUT, "no small ones in this zone")
    async with scene(tmp_path, provider) as at:
        work = await at.rig.bind_new()
        failed = await at.reports.until(BindFailed, work.key)
        assert failed.reason == "stock-out: no small ones in this zone"
        assert failed.cause is FailureCause.BACKEND
        assert not at.reports.online("small-1")
        assert at.reports.online("large-1")
        with pytest.raises(Refusal):
            await at.rig.backend.bind(work)


@in_event_loop
async def test_work_on_a_machine_that_is_taken_away_is_lost(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        work = await at.rig.start_new()
        machine = at.running[0]
        at.provider.there[machine.id] = replace(machine, state=MachineState.ENDED, reason="spot interruption")
        end = await at.rig.finished(work.key)
        assert end.exit_code is None
        assert "spot interruption" in end.reason


@in_event_loop
async def test_work_on_a_machine_that_was_stopped_is_lost_and_what_is_left_of_the_machine_is_reaped(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path, reap_after=0.2) as at:
        work = await at.rig.start_new()
        machine = at.running[0]
        at.provider.there[machine.id] = replace(machine, state=MachineState.STOPPED, reason="somebody stopped it")
        end = await at.rig.finished(work.key)
        assert "somebody stopped it" in end.reason
        await at.until(lambda: at.provider.there[machine.id].state is MachineState.ENDED, "the reaper")


@in_event_loop
async def test_an_older_machine_of_the_same_name_that_has_ended_does_not_end_the_new_one(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        work = await at.rig.start_new()
        ours = at.running[0]
        owner = at.provider.owners[ours.id]
        for number in range(3):  # clouds show those that have ended for an hour, in any order
            name = f"old-{number}"
            at.provider.there[name] = replace(ours, id=name, token=name, state=MachineState.ENDED)
            at.provider.owners[name] = owner
        looks = at.provider.looks
        await at.until(lambda: at.provider.looks > looks + 3, "some more looks")
        assert at.room.runs(work.key)
        assert not at.reports.of(TaskFinished)
        assert ours.node not in [event.name for event in at.reports.of(NodeLeft)]


@in_event_loop
async def test_the_notice_of_an_interruption_drains_the_node(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        await at.rig.start_new()
        machine = at.running[0]
        at.provider.there[machine.id] = replace(machine, ends_at=1.0, reason="spot interruption in two minutes")
        await at.until(lambda: bool(at.reports.of(NodeDrained)), "the drain")
        assert at.reports.of(NodeDrained)[0].reason == "spot interruption in two minutes"


@in_event_loop
async def test_after_a_crash_in_the_middle_of_a_launch_there_is_one_machine(tmp_path: Path) -> None:
    provider = MemoryProvider([machine_type("small")], breaks=10**6)
    async with scene(tmp_path, provider) as at:
        work = await at.rig.bind_new(run_s=0.0)
        await at.until(lambda: provider.launched == 1, "the launch")
    provider.breaks = 0
    async with scene(tmp_path, provider) as later:
        await later.rig.backend.reconcile([work])
        await later.reports.until(TaskStarted, work.key)
        assert provider.launched == 1


@in_event_loop
async def test_a_machine_that_nobody_knows_of_is_reaped_and_one_of_others_is_not(tmp_path: Path) -> None:
    async with scene(tmp_path, reap_after=0.2) as at:
        await at.rig.start_new()
        ours, owner = at.running[0], next(iter(at.provider.owners.values()))
        for name, marks in (("m-lost", owner), ("m-others", "somebody")):
            at.provider.there[name] = replace(ours, id=name, node="small-9", token="x")
            at.provider.owners[name] = marks
        backend = at.rig.backend
        assert isinstance(backend, BackendInRoom)
        assert [one.id for one in await backend.fleet.reap(dry_run=True)] == ["m-lost"]
        await at.until(lambda: {one.id for one in at.running} == {ours.id, "m-others"}, "the reaper")


@in_event_loop
async def test_a_fixed_machine_keeps_its_node_is_powered_off_when_idle_and_on_again(tmp_path: Path) -> None:
    provider = MemoryProvider([machine_type("rack1-u3", fixed=True)])
    async with scene(tmp_path, provider, idle=0.3, joins=False) as at:
        first = await at.rig.start_new(run_s=0.0)
        await at.rig.finished(first.key)
        await at.until(lambda: not at.running, "the power off")
        assert not at.reports.of(NodeLeft)
        again = await at.rig.start_new(run_s=0.0)
        await at.reports.until(TaskFinished, again.key)
        assert {node.name for node in at.reports.nodes} == {"rack1-u3"}
        assert provider.launched == 2


@in_event_loop
async def test_a_machine_of_which_nothing_is_known_takes_no_work_and_keeps_what_it_has(tmp_path: Path) -> None:
    provider = MemoryProvider([machine_type("rack1-u3", fixed=True), machine_type("rack1-u4", fixed=True)])
    async with scene(tmp_path, provider, idle=0.2, joins=False) as at:
        work = await at.rig.start_new()
        machine, node, backend = at.running[0], work.node, at.rig.backend
        assert isinstance(backend, BackendInRoom)
        provider.there[machine.id] = replace(machine, state=MachineState.UNKNOWN, reason="its controller hangs")
        await at.until(lambda: not at.reports.online(node), "the node offline")
        assert backend.keeps_offline(node)
        with pytest.raises(Refusal):
            await backend.bind(replace(at.rig.new_work(), node=node))
        assert backend.assigned(node) == [work]
        provider.there[machine.id] = machine
        await at.until(lambda: at.reports.online(node), "the node back")
        await backend.stop(work.key, "enough")
        await at.until(lambda: not at.running, "its end, now that it is known and idle")


@in_event_loop
async def test_a_fixed_machine_whose_agent_is_not_heard_in_time_is_ended_and_left_alone(tmp_path: Path) -> None:
    provider = MemoryProvider([machine_type("rack1-u3", fixed=True)])
    async with scene(tmp_path, provider, joins=False, boot_within=0.3) as at:
        at.room.running = _nobody
        work = await at.rig.bind_new()
        end = await at.reports.until(TaskFinished, work.key)
        assert "its agent did not join within 0.3 s" in end.reason
        await at.until(lambda: not at.reports.online("rack1-u3"), "the node offline")
        assert not at.running


async def _nobody() -> dict[str, str]:
    return {}


@in_event_loop
async def test_many_tasks_at_once_find_more_and_more_machines_of_a_type(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        for _ in range(5):
            free = [node.name for node in at.reports.nodes if node.offer and not node.offer.running]
            for name in free:
                work = at.rig.new_work(run_s=3600.0)
                await at.rig.backend.bind(replace(work, node=name))
            await asyncio.sleep(0)
        await at.until(lambda: len(at.running) >= 5, "five machines")


@in_event_loop
async def test_the_cordon_of_a_machine_that_was_taken_back_does_not_stay_on_its_name(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        work = await at.rig.start_new()
        (name,) = at.provider.there
        at.provider.there[name] = replace(at.provider.there[name], ends_at=1.0)
        await at.until(lambda: bool(at.reports.of(NodeDrained)), "the node is drained")
        at.provider.there[name] = replace(at.provider.there[name], state=MachineState.ENDED)
        await at.rig.finished(work.key)
        named = [
            (type(one), one.name if isinstance(one, NodeLeft) else one.node.name)
            for one in at.reports.received
            if isinstance(one, NodeLeft | NodeJoined)
        ]
        left = named.index((NodeLeft, work.node))
        assert (NodeJoined, work.node) in named[left:]  # offered again, as a new node
