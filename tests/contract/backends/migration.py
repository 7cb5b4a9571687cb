"""Live migration, for every backend whose VMs move: two hypervisors, `hv1` and `hv2`, with one storage.

A class of tests sets up the backend (`subject`), one whose VMs cannot move (`hampered`: the target is not reached, and
storage is not shared), and the name of its domains.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.contract.backends.conformance import Rig, Subject, run_async, started
from tests.contract.backends.machine_control import NUMBERS, begun, until
from tests.servers.libvirt import LibvirtServer
from tests.servers.tiny_guest import machine

from dovetail.backends.contract import Assignment, MigratingBackend, Phase, Refusal, StillMoving
from dovetail.backends.vm_control import MachineControl
from dovetail.model.event import TaskFinished, TaskMoved
from dovetail.model.workloads.workload import Workload

DISK = {"disks": [{"size": "1MiB"}]}
Hosts = tuple[LibvirtServer, LibvirtServer]
Domain = Callable[[str], str]


def mover(rig: Rig) -> MigratingBackend:
    assert isinstance(rig.backend, MigratingBackend)
    assert rig.backend.capabilities.migrate
    return rig.backend


async def migrated(rig: Rig, key: str, node: str) -> None:
    """As the control plane does it."""
    while True:
        try:
            await mover(rig).migrate(key, node)
        except StillMoving:
            continue
        return


async def start_on(rig: Rig, spec: Workload, node: str) -> Assignment:
    work = rig.assignment(next(NUMBERS), spec)
    found = Assignment(work.key, work.task, node, spec)
    await begun(rig, found)
    return found


async def runs_again(rig: Rig, key: str) -> None:
    """Where it arrived, somebody has said so."""
    for _ in range(600):
        if (await rig.backend.status(key)).phase is Phase.RUNNING:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"{key} does not run")


class MigrationSuite:
    @pytest.fixture
    def subject(self) -> Subject:
        raise NotImplementedError

    @pytest.fixture
    def hampered(self) -> Subject:
        raise NotImplementedError

    @pytest.fixture
    def domain(self) -> Domain:
        raise NotImplementedError

    def test_a_vm_moves_while_it_runs_and_keeps_its_log_and_its_key(
        self, subject: Subject, libvirt_servers: Hosts, domain: Domain
    ) -> None:
        async def scene() -> None:
            first, second = libvirt_servers
            async with started(subject) as rig:
                work = await start_on(rig, machine(exit_code=3, text="first words\n", vm=DISK), "hv1")
                key, name = work.key, domain(work.key)
                await mover(rig).check_migration(key, "hv2")
                assert name in first.running(), "to ask is not to move"
                for _ in range(2):
                    await migrated(rig, key, "hv2")
                    assert (name in first.running(), name in second.running()) == (False, True)
                assert isinstance(rig.backend, MachineControl)
                done = await rig.backend.migration(key)
                assert done is not None
                assert (done.state, done.source, done.target) == ("done", "hv1", "hv2")
                assert done.sent_bytes > 0
                assert done.downtime_s is not None
                await runs_again(rig, key)
                assert not rig.reports.about(TaskFinished, key)
                await rig.backend.stop(key, "enough")
                assert (await rig.finished(key)).exit_code is None
                assert "first words" in (await rig.backend.logs(key, 0, 1000)).text
                await until(lambda: name not in [*first.domains(), *second.domains()], "no domain is left")
                await until(lambda: {one.suffix for one in first.pool.glob(f"{name}*")} == {".log"}, "no disk is left")
                assert len(rig.reports.about(TaskFinished, key)) == 1

        run_async(scene)

    def test_a_control_plane_that_is_gone_amid_a_migration_finds_the_vm_where_it_went(
        self, subject: Subject, libvirt_servers: Hosts, domain: Domain
    ) -> None:
        async def scene() -> None:
            for moment_s in (0.0, 0.2, 0.5):
                async with started(subject) as rig:
                    work = await start_on(rig, machine(vm=DISK, text="up\n"), "hv1")
                    begin = asyncio.create_task(migrated(rig, work.key, "hv2"))
                    await asyncio.sleep(moment_s)
                    begin.cancel()
                    await asyncio.gather(begin, return_exceptions=True)
                told = [event.node for event in rig.reports.of(TaskMoved) if event.key == work.key]
                async with started(subject) as rig:
                    await rig.backend.reconcile([replace(work, node=told[-1])] if told else [work])
                    await migrated(rig, work.key, "hv2")
                    await runs_again(rig, work.key)
                    where = [host.name for host in libvirt_servers if domain(work.key) in host.running()]
                    assert where == ["hv2"]
                    await rig.backend.stop(work.key, "enough")
                    await rig.finished(work.key)
                    assert [host.name for host in libvirt_servers if domain(work.key) in host.running()] == []

        run_async(scene)

    def test_a_vm_that_is_to_stop_while_it_moves_ends_once_and_runs_nowhere(
        self, subject: Subject, libvirt_servers: Hosts, domain: Domain
    ) -> None:
        async def scene() -> None:
            async with started(subject) as rig:
                for moment_s in (0.1, 0.4):
                    work = await start_on(rig, machine(vm=DISK, text="up\n"), "hv1")
                    begin = asyncio.create_task(migrated(rig, work.key, "hv2"))
                    await asyncio.sleep(moment_s)
                    await rig.backend.stop(work.key, "enough")
                    assert (await rig.finished(work.key)).exit_code is None
                    await asyncio.gather(begin, return_exceptions=True)
                    name = domain(work.key)
                    await until(lambda: not [one for one in libvirt_servers if name in one.domains()], "no domain")  # noqa: B023
                    assert len(rig.reports.about(TaskFinished, work.key)) == 1

        run_async(scene)

    def test_what_cannot_move_is_refused_with_what_to_do_and_runs_on(
        self, hampered: Subject, libvirt_servers: Hosts, domain: Domain
    ) -> None:
        async def scene() -> None:
            async with started(hampered) as rig:
                with_disk = await start_on(rig, machine(vm=DISK, text="up\n"), "hv1")
                without = await start_on(rig, machine(text="up\n"), "hv1")
                for ask in (mover(rig).check_migration, mover(rig).migrate):
                    with pytest.raises(Refusal, match="shared_storage"):
                        await ask(with_disk.key, "hv2")
                    with pytest.raises(Refusal, match="does not run"):
                        await ask(f"{next(NUMBERS)}.0.1", "hv2")
                with pytest.raises(Refusal, match=r"could not migrate it to hv2: .*onnect"):
                    await migrated(rig, without.key, "hv2")
                for work in (with_disk, without):
                    assert domain(work.key) in libvirt_servers[0].running()
                    assert (await rig.backend.status(work.key)).phase is Phase.RUNNING
                    await rig.backend.kill(work.key, "enough")  # type: ignore[attr-defined]
                    await rig.finished(work.key)

        run_async(scene)
