"""A libvirt backend over real hypervisors, whose VMs boot the tiny guest: it does what a workload's arguments say."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.contract.backends.conformance import Rig, Subject
from tests.contract.backends.machine_control import NUMBERS, begun
from tests.servers.libvirt import LibvirtServer
from tests.servers.tiny_guest import machine, write_kernel

pytest.importorskip(
    "libvirt", reason="the Python package libvirt-python is not installed (Debian: libvirt-dev to build it)"
)

from dovetail.backends.contract import Assignment
from dovetail.backends.libvirt.backend import LibvirtBackend
from dovetail.backends.libvirt.settings import LibvirtSettings
from dovetail.model.workloads.workload import Workload
from dovetail.testing.lossy_proxy import LossyProxy

Hosts = tuple[LibvirtServer, LibvirtServer]
CLUSTERS = count(1)


def host_of(server: LibvirtServer, **fields: Any) -> dict[str, Any]:
    return {
        "name": server.name,
        "uri": "qemu+unix:///system",
        "parameters": {"socket": str(server.socket)},
        "peer_uri": server.peer_uri,
        "migration_address": "127.0.0.1",
    } | fields


def libvirt_settings(*hosts: dict[str, Any], **fields: Any) -> LibvirtSettings:
    """Looks are seldom, so that what is heard comes from events. Each has a cluster of its own: hosts are shared."""
    usual = {"grace_s": "1s", "look_interval_s": "30s", "answer_within_s": "40s", "cluster": f"t{next(CLUSTERS)}"}
    given = {"hypervisors": list(hosts), "shared_storage": True, "disk_cache": "writethrough", "emulate": True}
    return LibvirtSettings.model_validate(given | usual | fields)


def domain_name(settings: LibvirtSettings, key: str) -> str:
    return f"dovetail-{settings.cluster}-{key}"


def libvirt_subject(folder: Path, server: LibvirtServer, settings: LibvirtSettings) -> Subject:
    write_kernel(server.pool)
    return Subject(
        backend_factory=lambda: LibvirtBackend("vms", settings, folder / "backend"),
        workload=machine,
        unrunnable=[
            Workload.model_validate({"name": "bare", "run": {"command": ["true"]}}),
            Workload.model_validate({"name": "empty", "kind": "vm", "resources": {"memory": "8MiB"}}),
            machine(vm={"kernel": "no-such-volume"}),
            machine(vm={"kernel": "/etc/passwd"}),
            machine(vm={"machine": "no-such-machine"}),
            machine(vm={"networks": [{"network": "nowhere"}]}),
        ],
        times_run=lambda key: server.starts(domain_name(settings, key)),
        runs_now=lambda key: domain_name(settings, key) in server.running(),
    )


def bound(rig: Rig, spec: Workload, node: str = "hv1") -> Assignment:
    work = rig.assignment(next(NUMBERS), spec)
    return Assignment(work.key, work.task, node, spec)


async def start(rig: Rig, spec: Workload, node: str = "hv1") -> str:
    return await begun(rig, bound(rig, spec, node))


def backend_of(rig: Rig) -> LibvirtBackend:
    assert isinstance(rig.backend, LibvirtBackend)
    return rig.backend


def with_hooks(subject: Subject, proxy: LossyProxy) -> Subject:
    """Its only hypervisor is reached through the proxy."""

    @asynccontextmanager
    async def cut_off(_: str) -> AsyncIterator[None]:
        async with proxy.break_calls():
            yield

    return replace(
        subject,
        cut_replies=proxy.cut_replies,
        break_calls=proxy.break_calls,
        hold_reply=proxy.hold_reply,
        cut_off=cut_off,
    )
