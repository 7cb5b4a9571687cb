"""What users do to VMs, for every backend that lets them: the suite of `dovetail.backends.vm_control`.

A class of tests sets up the backend (`subject`), the hypervisor behind it and the name of its domains.
"""

import asyncio
from collections.abc import Callable
from itertools import count

import pytest
from tests.contract.backends.conformance import Rig, Subject, run_async, started
from tests.servers.libvirt import LibvirtServer
from tests.servers.tiny_guest import kernel_args, machine

from dovetail.backends.contract import Assignment, Phase, Refusal
from dovetail.backends.vm_control import MachineControl, MachinePower, MachineSeen
from dovetail.model.event import TaskFinished, TaskStarted
from dovetail.model.workloads.workload import Workload

NUMBERS = count(10_000)
"""Of workloads, for tests that ask a hypervisor about a key: other tests have left logs there."""

FOREIGN = """<domain type='qemu'><name>{name}</name><memory unit='MiB'>8</memory><vcpu>1</vcpu>
<os><type arch='x86_64' machine='pc'>hvm</type><kernel>{pool}/tiny-guest</kernel><cmdline>{args}</cmdline></os>
<features><acpi/></features><devices><emulator>/usr/bin/qemu-system-x86_64</emulator></devices></domain>"""


def define_foreign(server: LibvirtServer, name: str) -> None:
    """A VM that somebody else made and started."""
    connection = server.connect()
    connection.defineXML(FOREIGN.format(name=name, pool=server.pool, args=kernel_args(3600, 0))).create()
    connection.close()


def remove_foreign(server: LibvirtServer, name: str) -> None:
    connection = server.connect()
    domain = connection.lookupByName(name)
    if domain.isActive():
        domain.destroy()
    domain.undefine()
    connection.close()


async def until(holds: Callable[[], bool], what: str) -> None:
    for _ in range(600):
        if await asyncio.to_thread(holds):
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"waited in vain for {what}")


def control_of(rig: Rig) -> MachineControl:
    assert isinstance(rig.backend, MachineControl)
    assert rig.backend.capabilities.machines
    return rig.backend


async def seen_by(rig: Rig) -> dict[str, MachineSeen]:
    nodes = [node.name for node in rig.reports.nodes]
    return {one.name: one for one in await control_of(rig).machines(nodes)}


async def begun(rig: Rig, work: Assignment) -> str:
    """Its key, once its start was reported and, if it has something to say, it has begun to do so: from then on its
    guest hears the power button."""
    await rig.backend.bind(work)
    await rig.reports.until(TaskStarted, work.key)
    assert work.spec.vm is not None
    for _ in range(600):
        if (work.spec.vm.kernel_args or "").endswith("-") or (await rig.backend.logs(work.key, 0, 1000)).text:
            return work.key
        await asyncio.sleep(0.1)
    raise AssertionError(f"{work.key} wrote nothing")


async def start(rig: Rig, spec: Workload) -> str:
    return await begun(rig, rig.assignment(next(NUMBERS), spec))


class MachineControlSuite:
    @pytest.fixture
    def subject(self) -> Subject:
        raise NotImplementedError

    @pytest.fixture
    def server(self) -> LibvirtServer:
        """The hypervisor that runs its VMs."""
        raise NotImplementedError

    @pytest.fixture
    def domain(self) -> Callable[[str], str]:
        """The name of the domain of an attempt."""
        raise NotImplementedError

    def test_a_vm_that_was_switched_off_goes_on_when_it_is_switched_on(
        self, subject: Subject, server: LibvirtServer, domain: Callable[[str], str]
    ) -> None:
        async def scene() -> None:
            async with started(subject) as rig:
                control = control_of(rig)
                key = await start(rig, machine(text="up\n"))
                name = domain(key)
                await control.set_power(key, MachinePower.OFF)
                await until(lambda: name not in server.running(), "the end of the guest")
                assert (await rig.backend.status(key)).phase is Phase.RUNNING
                with pytest.raises(Refusal, match="it is off"):
                    await control.set_power(key, MachinePower.RESET)
                await control.set_power(key, MachinePower.ON)
                assert name in server.running()
                await control.set_power(key, MachinePower.CUT)
                assert name not in server.running()
                assert (await seen_by(rig))[name].power == "off"
                assert not rig.reports.about(TaskFinished, key)
                await rig.backend.stop(key, "enough")
                assert (await rig.finished(key)).exit_code is None

        run_async(scene)

    def test_snapshots_have_the_memory_of_their_time(self, subject: Subject) -> None:
        async def scene() -> None:
            async with started(subject) as rig:
                control = control_of(rig)
                key = await start(rig, machine(text="up\n", vm={"disks": [{"size": "1MiB"}]}))
                await control.take_snapshot(key, "before")
                await control.take_snapshot(key, "before")
                assert [(one.name, one.power) for one in await control.snapshots(key)] == [("before", "running")]
                await control.revert_to_snapshot(key, "before")
                assert (await rig.backend.status(key)).phase is Phase.RUNNING
                with pytest.raises(Refusal, match="there is: before"):
                    await control.revert_to_snapshot(key, "after")
                await control.remove_snapshot(key, "before")
                assert await control.snapshots(key) == []
                await rig.backend.stop(key, "enough")
                await rig.finished(key)

        run_async(scene)

    def test_vms_of_others_are_seen_and_ours_are_known_as_ours(
        self, subject: Subject, server: LibvirtServer, domain: Callable[[str], str]
    ) -> None:
        async def scene() -> None:
            async with started(subject) as rig:
                key = await start(rig, machine(text="up\n"))
                define_foreign(server, "somebodys")
                try:
                    found = await seen_by(rig)
                    assert (found["somebodys"].key, found["somebodys"].power) == (None, "running")
                    assert (found[domain(key)].key, found[domain(key)].cpus) == (key, 1)
                    assert await control_of(rig).machines([]) == []
                finally:
                    remove_foreign(server, "somebodys")
                await rig.backend.stop(key, "enough")
                await rig.finished(key)

        run_async(scene)

    def test_an_attempt_without_a_vm_is_unknown(self, subject: Subject) -> None:
        async def scene() -> None:
            async with started(subject) as rig:
                control, nobody = control_of(rig), f"{next(NUMBERS)}.0.1"
                for ask in (control.snapshots(nobody), control.set_power(nobody, MachinePower.OFF)):
                    with pytest.raises(KeyError):
                        await ask
                with pytest.raises(Refusal, match="no VM 'nothing' of others runs on"):
                    await control.offer_for_adoption(rig.reports.nodes[0].name, "nothing")

        run_async(scene)
