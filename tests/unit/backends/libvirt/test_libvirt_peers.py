"""What an agent with a hypervisor says before a VM comes to it, and what it writes down."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "libvirt", reason="the Python package libvirt-python is not installed (Debian: libvirt-dev to build it)"
)

from dovetail.backends.contract import Assignment, Refusal
from dovetail.backends.libvirt.backend import LibvirtBackend
from dovetail.backends.libvirt.settings import LibvirtSettings, refuse_unsafe_peer
from dovetail.backends.peer_migration import LeavingMachine, PeerAddress, PeerMove
from dovetail.model.event import Event, TaskFinished
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload

KEY = "7.0.1"
PEER = "qemu+tls://hv.example/system"
COMES, GOES = PeerMove(KEY, "far", "hv", "n1"), PeerMove(KEY, "hv", "far", "n2")
VM = Workload.model_validate({"name": "vm", "kind": "vm", "resources": {"memory": "8MiB"}, "vm": {"kernel": "k"}})


def played(folder: Path, act: Callable[[LibvirtBackend, list[Event]], Awaitable[None]], **fields: Any) -> None:
    host = {"name": "hv", "uri": "test:///default", "peer_uri": PEER} | fields.pop("host", {})
    settings = LibvirtSettings.model_validate({"hypervisors": [host], "cluster": "c"} | fields)

    async def whole() -> None:
        events: list[Event] = []

        async def report(event: Event) -> None:
            events.append(event)

        backend = LibvirtBackend("agent", settings, folder)
        await backend.start(report)
        try:
            await act(backend, events)
        finally:
            await backend.close()

    asyncio.run(whole())


@pytest.mark.parametrize("uri", [PEER, "qemu+ssh://root@10.0.0.7/system", "qemu+tcp://hv:1/system"])
def test_an_address_of_a_hypervisor_is_taken(uri: str) -> None:
    refuse_unsafe_peer(uri)


@pytest.mark.parametrize(
    "uri",
    [
        "qemu:///system",
        "qemu+ssh://hv/system?command=/tmp/evil",
        "qemu+ssh://hv/system?netcat=evil",
        "qemu+ext://hv/system",
        "qemu+libssh2://hv/system",
        "qemu+ssh://-oProxyCommand=evil/system",
        "qemu+ssh://-l@hv/system",
        "lxc+tls://hv/",
        "http://hv/",
        "",
    ],
)
def test_an_address_that_could_run_something_here_is_refused(uri: str) -> None:
    with pytest.raises(Refusal, match="is no address for hypervisors"):
        refuse_unsafe_peer(uri)


def test_a_node_takes_in_vms_of_its_own_cluster_whose_disks_it_shares(tmp_path: Path) -> None:
    async def act(backend: LibvirtBackend, _: list[Event]) -> None:
        assert (await backend.peers.peer("hv", LeavingMachine("c", disks=False))).uri == PEER
        with pytest.raises(Refusal, match=r"give both agents the same libvirt\.cluster"):
            await backend.peers.peer("hv", LeavingMachine("other", disks=False))
        with pytest.raises(Refusal, match=r"set libvirt\.shared_storage"):
            await backend.peers.peer("hv", LeavingMachine("c", disks=True))
        with pytest.raises(Refusal, match="is no hypervisor of this agent"):
            await backend.peers.peer("other", LeavingMachine("c", disks=False))

    played(tmp_path, act)


def test_a_node_that_peers_do_not_reach_says_what_to_set(tmp_path: Path) -> None:
    async def act(backend: LibvirtBackend, _: list[Event]) -> None:
        with pytest.raises(Refusal, match="give it peer_uri in the settings"):
            await backend.peers.peer("hv", LeavingMachine("c", disks=False))

    played(tmp_path, act, host={"peer_uri": None})


def test_an_expected_vm_is_remembered_until_it_is_settled(tmp_path: Path) -> None:
    async def expect(backend: LibvirtBackend, _: list[Event]) -> None:
        await backend.peers.expect(COMES)
        await backend.peers.expect(COMES)

    async def settle(backend: LibvirtBackend, events: list[Event]) -> None:
        assert await backend.peers.open_moves() == [COMES]
        assert (await backend.peers.presence(KEY)).power is None
        with pytest.raises(Refusal, match="knows it already"):
            await backend.peers.expect(PeerMove(KEY, "far", "hv", "n9"))
        await backend.peers.settle(KEY, "another", "far")
        assert await backend.peers.open_moves() == [COMES], "another move is not this one"
        await backend.peers.settle(KEY, "n1", "far")
        assert await backend.peers.open_moves() == []
        assert not await backend.knows(KEY)
        assert not [event for event in events if isinstance(event, TaskFinished)]

    played(tmp_path, expect)
    played(tmp_path, settle)


def test_a_move_that_was_settled_before_it_was_heard_of_does_not_begin(tmp_path: Path) -> None:
    async def act(backend: LibvirtBackend, _: list[Event]) -> None:
        await backend.peers.settle(KEY, "n1", "far")
        with pytest.raises(Refusal, match="is over"):
            await backend.peers.expect(COMES)
        with pytest.raises(Refusal, match="does not run"):
            await backend.peers.send(GOES, PeerAddress(PEER, None, {}))

    played(tmp_path, act)


def test_a_vm_that_is_ordered_from_its_target_and_is_not_there_is_lost(tmp_path: Path) -> None:
    """The server had seen it there; somebody has removed it since."""

    async def act(backend: LibvirtBackend, events: list[Event]) -> None:
        await backend.peers.expect(COMES)
        await backend.bind(Assignment(KEY, TaskId(7, 0), "hv", VM))
        [end] = [event for event in events if isinstance(event, TaskFinished)]
        assert end.exit_code is None
        assert end.reason.startswith("lost")
        await backend.peers.settle(KEY, "n1", "hv")
        assert await backend.peers.open_moves() == []

    played(tmp_path, act)


def test_an_attempt_that_was_handed_over_is_neither_bound_nor_ended_here(tmp_path: Path) -> None:
    async def hand_over(backend: LibvirtBackend, _: list[Event]) -> None:
        await backend._journal.order(KEY, "hv", created=True)
        await backend._journal.begin_peer_move(GOES, comes=False)
        await backend.peers.settle(KEY, "n2", "far")

    async def act(backend: LibvirtBackend, events: list[Event]) -> None:
        assert await backend.knows(KEY)
        await backend.stop(KEY, "late")
        with pytest.raises(Refusal, match="was migrated to far"):
            await backend.bind(Assignment(KEY, TaskId(7, 0), "hv", VM))
        await backend.reconcile([Assignment(KEY, TaskId(7, 0), "hv", VM)])
        assert not [event for event in events if isinstance(event, TaskFinished)]
        await backend.peers.expect(COMES)  # it comes back
        assert await backend.peers.open_moves() == [COMES]

    played(tmp_path, hand_over)
    played(tmp_path, act)
