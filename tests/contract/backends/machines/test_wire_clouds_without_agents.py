"""Google and Azure without agents: their SDKs against the fakes at the wire, whose machines run their user data.

The fakes are ours: they show that we speak the documented format.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.contract.backends.azure.scene import azure_settings, azure_wire
from tests.contract.backends.gcp.scene import gcp_settings, gcp_wire
from tests.contract.backends.machines.job_machines import CountedRuns
from tests.contract.backends.machines.room import NoTokens
from tests.servers.azure_wire import AzureWire
from tests.servers.gcp_wire import GcpWire
from tests.servers.job_machines import JobMachines, job_machines
from tests.servers.wire import PreparedError, WireReply

from dovetail.backends.azure.provider import AzureMachines
from dovetail.backends.contract import Backend
from dovetail.backends.gcp.instance_request import instance_request
from dovetail.backends.gcp.provider import GcpMachines
from dovetail.backends.machines.choosing import cloud_backend
from dovetail.backends.machines.provider import Launch, MachineType
from dovetail.model.event import TaskWaiting
from dovetail.model.node import Node
from dovetail.testing.rig import CollectedReports, Rig, Subject, in_event_loop

NODES = 4


@dataclass
class WireCloud:
    wire: GcpWire | AzureWire
    machines: JobMachines
    backend: Callable[..., Backend]

    def left(self) -> list[str]:
        found = self.wire.left()
        return found["virtualMachines"] if isinstance(found, dict) else found


@contextmanager
def gcp(folder: Path) -> Iterator[WireCloud]:
    with gcp_wire(folder) as (wire, key), job_machines(wire, folder / "machines") as machines:
        wire.console = machines.console

        def backend(**fields: Any) -> Backend:
            settings = gcp_settings(wire, key, poll=0.05, join=None, cloud_init=fields)
            return cloud_backend("cloud", GcpMachines("cloud", settings, look_s=0.02), settings, folder / "backend")

        yield WireCloud(wire, machines, backend)


@contextmanager
def azure(folder: Path) -> Iterator[WireCloud]:
    with azure_wire(folder) as (wire, ca), job_machines(wire, folder / "machines") as machines:
        wire.console = machines.console

        def backend(**fields: Any) -> Backend:
            settings = azure_settings(wire, ca, poll=0.05, join=None, cloud_init=fields)
            return cloud_backend("cloud", AzureMachines("cloud", settings, look_s=0.02), settings, folder / "backend")

        yield WireCloud(wire, machines, backend)


@pytest.fixture(params=[gcp, azure])
def cloud(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[WireCloud]:
    made: Callable[[Path], AbstractContextManager[WireCloud]] = request.param
    with made(tmp_path) as found:
        yield found


@asynccontextmanager
async def scene(cloud: WireCloud, folder: Path, **fields: Any) -> AsyncIterator[Rig]:
    backend = cloud.backend(**fields)
    backend.use_credentials(NoTokens())  # type: ignore[attr-defined]
    subject = Subject(lambda: backend, CountedRuns(folder / "runs").work, nodes_used=NODES)
    reports = CollectedReports(subject)
    await backend.start(reports.report)
    try:
        yield Rig(subject, backend, reports)
    finally:
        await backend.close()


@in_event_loop
async def test_a_job_runs_on_a_machine_of_its_own_and_its_end_is_read_from_the_console(
    cloud: WireCloud, tmp_path: Path
) -> None:
    async with scene(cloud, tmp_path) as rig:
        work = await rig.bind_new(0.2, 5, "hi from a console")
        assert (await rig.finished(work.key)).exit_code == 5
        assert (await rig.backend.logs(work.key, 0, 100)).text == "hi from a console"
        await rig.reports.until_true(lambda: not cloud.left(), "the end of the machine")
        stopped = await rig.start_new()
        await rig.backend.stop(stopped.key, "enough")
        assert (await rig.finished(stopped.key)).exit_code is None
        await rig.reports.until_true(lambda: not cloud.left(), "the end of the other machine")
        assert len(cloud.wire.created) == 2


@in_event_loop
async def test_a_machine_that_powered_itself_off_before_it_was_read_is_ended_all_the_same(
    cloud: WireCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Azure shows the console of one that stands still. Google does not: what was not read by then is lost."""
    monkeypatch.setattr("dovetail.backends.machines.cloud_init.backend.LAST_WORDS_WITHIN_S", 0.5)
    show, cloud.wire.console = cloud.wire.console, lambda _: ""
    async with scene(cloud, tmp_path, linger=0) as rig:
        work = await rig.bind_new(0.0, 5)
        await rig.reports.until_true(lambda: bool(cloud.machines.all) and not cloud.machines.on, "it is off")
        cloud.wire.console = show
        finished = await rig.finished(work.key)
        if isinstance(cloud.wire, AzureWire):
            assert finished.exit_code in (5, None)  # it may have been looked at just before
        else:
            assert finished.exit_code is None
            assert "its console has no result" in finished.reason
        await rig.reports.until_true(lambda: not cloud.left(), "the end of the machine")


@in_event_loop
async def test_a_missing_permission_is_said_while_the_task_waits(cloud: WireCloud, tmp_path: Path) -> None:
    method, path = ("POST", "retrieveBoot") if isinstance(cloud.wire, AzureWire) else ("GET", "serialPort")
    refused = WireReply(403, {"error": {"code": 403, "message": "you may not read consoles", "errors": []}})
    cloud.wire.faults.errors.append(PreparedError(method, path, refused, times=2))
    async with scene(cloud, tmp_path) as rig:
        work = await rig.bind_new()
        await rig.reports.until_true(
            lambda: any("may not read consoles" in one.why for one in rig.reports.about(TaskWaiting, work.key)), "words"
        )
        assert (await rig.finished(work.key)).exit_code == 0


def test_google_gets_the_job_for_cloud_init_and_for_its_own_agent(tmp_path: Path) -> None:
    labels = {
        "topology.kubernetes.io/zone": "us-central1-a",
        "topology.kubernetes.io/region": "us-central1",
        "node.kubernetes.io/instance-type": "e2-standard-4",
    }
    kind = MachineType(Node(name="t", labels=labels))
    with gcp_wire(tmp_path) as (wire, key):
        settings = gcp_settings(wire, key)
    for console, keys in (
        (True, ["startup-script", "dovetail-node", "user-data"]),
        (False, ["startup-script", "dovetail-node"]),
    ):
        body = instance_request(settings, Launch("t-1", kind, "0" * 16, "us", "text", console=console))
        assert [item["key"] for item in body["metadata"]["items"]] == keys
