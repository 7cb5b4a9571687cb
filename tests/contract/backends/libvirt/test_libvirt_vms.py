"""VMs on real hypervisors: how they end, their console and power, snapshots, VMs of others, live migration."""

import asyncio
from pathlib import Path

import pytest
from tests.contract.backends.conformance import run_async, started
from tests.contract.backends.libvirt.rig import (
    Hosts,
    backend_of,
    bound,
    domain_name,
    host_of,
    libvirt_settings,
    libvirt_subject,
    start,
)
from tests.contract.backends.machine_control import FOREIGN, define_foreign, remove_foreign, until
from tests.servers.libvirt import LibvirtServer
from tests.servers.tiny_guest import machine

from dovetail.backends.contract import Phase, Refusal
from dovetail.backends.libvirt.domains import HostDomains
from dovetail.backends.libvirt.naming import DomainIdentity
from dovetail.backends.libvirt.settings import LibvirtSettings
from dovetail.backends.libvirt.storage import VmStorage
from dovetail.model.event import NodeObserved, TaskFinished, TaskStarted
from dovetail.model.workloads.workload import Workload

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("libvirt")]


@pytest.fixture
def settings(libvirt_servers: Hosts) -> LibvirtSettings:
    return libvirt_settings(*(host_of(server) for server in libvirt_servers), grace_s="20s")


def create_volume(server: LibvirtServer, name: str) -> None:
    connection = server.connect()
    (pool,) = connection.listAllStoragePools()
    pool.createXML(f"<volume><name>{name}</name><capacity>1048576</capacity></volume>")
    connection.close()


def define_again(source: LibvirtServer, target: LibvirtServer, name: str) -> None:
    """A domain as it is on the source, switched off."""
    connections = source.connect(), target.connect()
    connections[1].defineXML(connections[0].lookupByName(name).XMLDesc())
    for connection in connections:
        connection.close()


def test_a_guest_is_asked_to_shut_down_and_leaves_nothing_but_its_log(
    tmp_path: Path, libvirt_servers: Hosts, settings: LibvirtSettings
) -> None:
    async def scene() -> None:
        server = libvirt_servers[0]
        async with started(libvirt_subject(tmp_path, server, settings)) as rig:
            key = await start(rig, machine(text="hello\n", vm={"disks": [{"size": "1MiB"}]}))
            name = domain_name(settings, key)
            assert (server.pool / f"{name}-1.qcow2").exists()
            await rig.backend.stop(key, "enough")
            assert (await rig.finished(key)).exit_code is None
            log = (await rig.backend.logs(key, 0, 1000)).text
            assert "hello" in log
            assert "dovetail: exit 000" in log, "the guest noticed the power button"
            assert name not in server.running()
            left = sorted(path.name for path in server.pool.glob(f"{name}*"))
            assert left == [f"{name}.log"]

    run_async(scene)


def test_a_disk_that_an_interrupted_removal_left_is_removed_when_the_backend_is_back(
    tmp_path: Path, libvirt_servers: Hosts, settings: LibvirtSettings
) -> None:
    async def scene() -> None:
        server = libvirt_servers[0]
        subject = libvirt_subject(tmp_path, server, settings)
        async with started(subject) as rig:
            key = await start(rig, machine(1, vm={"disks": [{"size": "1MiB"}]}))
            await rig.finished(key)
            disk = server.pool / f"{domain_name(settings, key)}-1.qcow2"
            await until(lambda: not disk.exists(), "the removal of the disk")
        create_volume(server, disk.name)
        assert disk.exists()
        async with started(subject) as rig:
            await until(lambda: not disk.exists(), "the removal of what was left")
            assert (await rig.backend.logs(key, 0, 1000)).text, "the log stays"

    run_async(scene)


def test_a_panic_is_a_failure_and_a_power_cut_by_others_is_a_loss(
    tmp_path: Path, libvirt_servers: Hosts, settings: LibvirtSettings
) -> None:
    async def scene() -> None:
        server = libvirt_servers[0]
        async with started(libvirt_subject(tmp_path, server, settings)) as rig:
            panics, cut = bound(rig, machine(0, "pan")), await start(rig, machine())
            await rig.backend.bind(panics)
            finished = await rig.finished(panics.key)
            assert (finished.exit_code, "panicked" in finished.reason) == (1, True)
            connection = server.connect()
            connection.lookupByName(domain_name(settings, cut)).destroy()
            connection.close()
            lost = await rig.finished(cut)
            assert (lost.exit_code, "by somebody else" in lost.reason) == (None, True)

    run_async(scene)


def test_the_console_shows_what_the_guest_writes_until_it_is_off(
    tmp_path: Path, libvirt_servers: Hosts, settings: LibvirtSettings
) -> None:
    async def scene() -> None:
        async with started(libvirt_subject(tmp_path, libvirt_servers[0], settings)) as rig:
            backend = backend_of(rig)
            key = await start(rig, machine(exit_code=7, text="up\n"))
            blocks = backend.attach(key)
            assert await anext(blocks) == b""
            await backend.stop(key, "enough")
            shown = b""
            async for block in blocks:
                shown += block if isinstance(block, bytes) else b""
            assert b"dovetail: exit 007" in shown
            await rig.finished(key)

    run_async(scene)


def test_vms_of_others_take_capacity_and_are_left_alone(
    tmp_path: Path, libvirt_servers: Hosts, settings: LibvirtSettings
) -> None:
    async def scene() -> None:
        server = libvirt_servers[0]
        await until(lambda: not server.running(), "the end of what other tests left")
        async with started(libvirt_subject(tmp_path, server, settings)) as rig:

            def cores() -> float:
                return next(node for node in rig.reports.nodes if node.name == "hv1").capacity.cpu

            before = cores()
            define_foreign(server, "legacy")
            try:
                await rig.reports.until_true(lambda: cores() == before - 1, "the smaller node")
                (seen,) = [one for one in await backend_of(rig).machines(["hv1"]) if one.name == "legacy"]
                assert (seen.key, seen.power) == (None, "running")
                await rig.reports.until_true(lambda: bool(rig.reports.of(NodeObserved)), "the use of the node")
            finally:
                assert "legacy" in server.running()
                remove_foreign(server, "legacy")
            await rig.reports.until_true(lambda: cores() == before, "the whole node")

    run_async(scene)


def test_a_vm_of_others_is_adopted_without_a_reboot_and_given_back_at_the_end(
    tmp_path: Path, libvirt_servers: Hosts, settings: LibvirtSettings
) -> None:
    adopting = {"name": "w", "kind": "vm", "resources": {"cpu": 1, "memory": "8MiB"}, "vm": {"adopt": "found"}}

    async def scene() -> None:
        server = libvirt_servers[0]
        subject = libvirt_subject(tmp_path, server, settings)
        define_foreign(server, "found")
        async with started(subject) as rig:
            free = next(node for node in rig.reports.nodes if node.name == "hv1").capacity.cpu
            offered = await backend_of(rig).offer_for_adoption("hv1", "found")
            assert (offered.cpus, offered.memory_bytes) == (1, 8 * 2**20)
            now = {node.name: node.capacity.cpu for node in rig.reports.nodes}
            assert now["hv1"] == free + 1, "it does not count as used any more"
            work = bound(rig, Workload.model_validate(adopting))
            await rig.backend.bind(work)
            await rig.reports.until(TaskStarted, work.key)
            with pytest.raises(Refusal, match="belongs to"):
                await rig.backend.bind(bound(rig, Workload.model_validate(adopting)))
        async with started(subject) as rig:  # the mark is in the domain: it is found again
            await rig.backend.reconcile([work])
            await rig.reports.until(TaskStarted, work.key)
            assert server.starts("found") == 1
            await rig.backend.stop(work.key, "enough")
            assert (await rig.finished(work.key)).exit_code is None
            await until(lambda: "found" not in server.running(), "the end of the guest")
            remove_foreign(server, "found")  # it is still defined

    run_async(scene)


def test_an_adopted_vm_stays_defined_when_two_remove_it_at_once(libvirt_servers: Hosts) -> None:
    server, identity, key = libvirt_servers[0], DomainIdentity("c1", "b1"), "1.0.1"
    virt = server.connect()
    theirs = virt.defineXML(FOREIGN.format(name="kept", pool=server.pool, args=""))
    try:
        domains = HostDomains(identity, VmStorage("default", identity, []), "none")
        domains.adopted[key] = theirs.UUIDString()  # as the slower one sees it: the mark is gone, and this is not yet
        domains.remove(virt, key, disks=False)
        assert virt.lookupByName("kept").UUIDString() == theirs.UUIDString()
    finally:
        virt.close()
        remove_foreign(server, "kept")


def test_a_domain_that_a_migration_left_behind_goes_without_the_disks_that_it_shares(
    tmp_path: Path, libvirt_servers: Hosts
) -> None:
    async def scene() -> None:
        first, second = libvirt_servers
        settings = libvirt_settings(*map(host_of, libvirt_servers), look_interval_s="1s")
        async with started(libvirt_subject(tmp_path, first, settings)) as rig:
            backend = backend_of(rig)
            key = await start(rig, machine(text="moved\n", vm={"disks": [{"size": "1MiB"}]}))
            name = domain_name(settings, key)
            await backend.migrate(key, "hv2")
            define_again(second, first, name)
            await until(lambda: name not in first.domains(), "the removal of the domain that was left")
            assert name in second.running()
            assert (first.pool / f"{name}-1.qcow2").exists(), "the VM on the other host uses it"
            await backend.kill(key, "enough")
            await rig.finished(key)

    run_async(scene)


def test_a_daemon_that_was_killed_finds_its_vms_again_and_starts_none_twice(
    tmp_path: Path, libvirt_servers: Hosts, settings: LibvirtSettings
) -> None:
    async def scene() -> None:
        server = libvirt_servers[0]
        async with started(libvirt_subject(tmp_path, server, settings)) as rig:
            runs, ends = await start(rig, machine()), await start(rig, machine(1, 5))
            await asyncio.to_thread(server.daemon.kill)
            await rig.reports.until_true(lambda: not rig.reports.online("hv1"), "the node's absence")
            assert not rig.reports.about(TaskFinished, runs)
            await asyncio.to_thread(server.restart)
            await rig.reports.until_true(lambda: rig.reports.online("hv1"), "the node's return")
            assert (await rig.finished(ends)).exit_code == 5
            assert (await rig.backend.status(runs)).phase is Phase.RUNNING
            assert [server.starts(domain_name(settings, key)) for key in (runs, ends)] == [1, 1]
            await rig.backend.stop(runs, "enough")
            await rig.finished(runs)

    run_async(scene)


def test_a_hypervisor_that_hangs_delays_no_other(tmp_path: Path, libvirt_servers: Hosts) -> None:
    async def scene() -> None:
        first, second = libvirt_servers
        settings = libvirt_settings(*(host_of(server) for server in libvirt_servers), answer_within_s="5s",
                                    look_interval_s="1s")  # fmt: skip
        async with started(libvirt_subject(tmp_path, first, settings)) as rig:

            def both_online() -> bool:  # a host that answers late is introduced after the start
                return rig.reports.online("hv1") and rig.reports.online("hv2")

            await rig.reports.until_true(both_online, "both nodes")
            with second.daemon.paused():
                await rig.reports.until_true(lambda: not rig.reports.online("hv2"), "the node's absence")
                work = bound(rig, machine(0, 4))
                await rig.until_bound(work)
                assert (await rig.finished(work.key)).exit_code == 4
                await rig.reports.until_true(lambda: rig.reports.online("hv1"), "the other node's presence")
            await rig.reports.until_true(lambda: rig.reports.online("hv2"), "the node's return")

    run_async(scene)
