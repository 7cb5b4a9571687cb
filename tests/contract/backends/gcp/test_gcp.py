"""Instances of Google keep the promises of every backend, through Google's SDK against a fake of ours at the wire."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.contract.backends.conformance import BackendConformance, Subject
from tests.contract.backends.gcp.scene import GcpScene, gcp_settings, gcp_wire
from tests.examples import seeds
from tests.servers.gcp_wire import API_KEY, GcpWire, error
from tests.servers.wire import PreparedError

from dovetail.backends.gcp.provider import GcpMachines
from dovetail.backends.machines.provider import Launch, LaunchRefused, MachineState, MachineType, RefusalKind
from dovetail.model.event import BindFailed, NodeDrained, TaskFinished, TaskStarted
from dovetail.testing.rig import in_event_loop

Server = tuple[GcpWire, Path]
NAME = "dovetail-0123456789abcdef"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with gcp_wire(tmp_path_factory.mktemp("gcp")) as found:
        yield found


@pytest.fixture
def wire(server: Server) -> GcpWire:
    """Without the instances and the faults of the test before."""
    found = server[0]
    for table in (found.instances, found.operations, found.by_request, found.no_stock):
        table.clear()
    for listed in (found.created, found.asked, found.skus):
        listed.clear()
    found.forbidden, found.provision_s = False, 0.05
    found.faults.__init__()  # type: ignore[misc]
    return found


class TestGcpBackend(BackendConformance):
    @pytest.fixture
    def subject(self, wire: GcpWire, server: Server, tmp_path: Path) -> Subject:
        return GcpScene(wire, server[1], tmp_path).subject()


@asynccontextmanager
async def provider(server: Server, **more: Any) -> AsyncIterator[tuple[GcpMachines, dict[str, MachineType]]]:
    made = GcpMachines("cloud", gcp_settings(*server, **more), look_s=0.02)
    try:
        yield made, {kind.name: kind for kind in await made.types()}
    finally:
        await made.close()


@asynccontextmanager
async def scene(server: Server, folder: Path, **more: Any) -> AsyncIterator[GcpScene]:
    made = GcpScene(*server, folder, **more)
    await made.rig.backend.start(made.reports.report)
    try:
        yield made
    finally:
        await made.rig.backend.close()


def launch_of(kind: MachineType, token: str = "0123456789abcdef", owner: str = "us") -> Launch:
    return Launch(f"{kind.name}-1", kind, token, owner, "#!/bin/sh\necho hello\n")


@in_event_loop
async def test_types_are_those_that_a_zone_has(wire: GcpWire, server: Server) -> None:
    async with provider(server, spot="allowed", types=["e2-standard-4", "g2-*", "n1-standard-4*"]) as (_, types):
        on_demand = [name for name in types if not name.endswith("-spot")]
        assert sorted(on_demand) == [
            "cloud-e2-standard-4-us-central1-a",
            "cloud-e2-standard-4-us-central1-b",
            "cloud-g2-standard-4-us-central1-a",
            "cloud-n1-standard-4-us-central1-a",
            "cloud-n1-standard-4-us-central1-b",
            "cloud-n1-standard-4_nvidia-tesla-t4x1-us-central1-a",
        ]
        kind = types["cloud-g2-standard-4-us-central1-a"]
        assert kind.node.gpus[0].model == "L4"
        assert kind.node.offer is not None
        assert kind.node.offer.place == "gcp/us-central1"
        assert types["cloud-g2-standard-4-us-central1-a-spot"].quota == "us-central1/PREEMPTIBLE_CPUS"


@in_event_loop
async def test_an_instance_has_its_marks_its_script_and_a_disk_that_goes_with_it(wire: GcpWire, server: Server) -> None:
    options = {"spot": "only", "public_address": True, "network_tags": ["work"], "types": ["n1-standard-4_*"]}
    async with provider(server, **options) as (made, types):
        kind = types["cloud-n1-standard-4_nvidia-tesla-t4x1-us-central1-a-spot"]
        machine = await made.launch(launch_of(kind))
        assert machine.id == f"us-central1-a/{NAME}"
        assert machine.node == f"{kind.name}-1"
        body = wire.instances[NAME].body
        assert body["labels"]["dovetail-owner"] == "us"
        assert body["labels"]["dovetail-launch"] == "0123456789abcdef"
        assert body["guestAccelerators"][0]["acceleratorCount"] == 1
        assert body["scheduling"]["instanceTerminationAction"] == "DELETE"
        assert wire.script(NAME) == "#!/bin/sh\necho hello\n"
        (seen,) = await made.machines("us")
        assert (seen.state, seen.token, seen.address) == (MachineState.RUNNING, "0123456789abcdef", "10.128.0.3")
        assert await made.machines("others") == []
        await made.end(seen)
        while wire.left():
            pass
        await made.end(seen)  # twice changes nothing


@pytest.mark.parametrize(
    ("code", "message", "kind", "also"),
    [
        ("ZONE_RESOURCE_POOL_EXHAUSTED", "no resources", RefusalKind.STOCK_OUT, {"cloud-e2-standard-4-us-central1-a"}),
        (
            "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS",
            "The zone does not have enough resources",
            RefusalKind.STOCK_OUT,
            {"cloud-e2-standard-4-us-central1-a"},
        ),
        (
            "QUOTA_EXCEEDED",
            "Quota 'CPUS' exceeded.  Limit: 24.0 in region us-central1.",
            RefusalKind.QUOTA,
            {f"cloud-e2-standard-{cores}-us-central1-{zone}" for cores in (4, 8) for zone in "ab"},
        ),
    ],
)
@in_event_loop
async def test_an_operation_that_fails_is_a_refusal_and_leaves_nothing(
    code: str, message: str, kind: RefusalKind, also: set[str], wire: GcpWire, server: Server
) -> None:
    wire.no_stock["e2-standard-4"] = code, message
    async with provider(server, types=["e2-*", "n2-standard-4"]) as (made, types):
        with pytest.raises(LaunchRefused, match=code) as refused:
            await made.launch(launch_of(types["cloud-e2-standard-4-us-central1-a"]))
        assert refused.value.kind is kind
        assert set(refused.value.types) == also
        assert not wire.left()


@in_event_loop
async def test_missing_rights_concern_everything_and_a_quota_may_be_told_at_once(wire: GcpWire, server: Server) -> None:
    wire.forbidden = True
    async with provider(server) as (made, types):
        asked = launch_of(types["cloud-e2-standard-4-us-central1-a"])
        with pytest.raises(LaunchRefused, match=r"compute\.instances\.create") as refused:
            await made.launch(asked)
        assert refused.value.kind is RefusalKind.PERMISSION
        assert set(refused.value.types) == set(types)
        wire.forbidden = False
        quota = error(403, "quotaExceeded", "Quota 'N2_CPUS' exceeded.")
        wire.faults.errors = [PreparedError("POST", "instances", quota)]
        with pytest.raises(LaunchRefused, match="quotaExceeded") as refused:
            await made.launch(asked)
        assert refused.value.kind is RefusalKind.QUOTA
        invalid = error(400, "invalid", "Invalid value for field")
        wire.faults.errors = [PreparedError("POST", "instances", invalid)]
        with pytest.raises(LaunchRefused, match="Invalid value") as refused:
            await made.launch(asked)
        assert refused.value.kind is RefusalKind.INVALID


@in_event_loop
async def test_throttling_and_lost_answers_are_no_refusals_and_leave_one_instance(
    wire: GcpWire, server: Server
) -> None:
    async with provider(server) as (made, types):
        asked = launch_of(types["cloud-e2-standard-4-us-central1-a"])
        for status, reason in ((403, "rateLimitExceeded"), (429, "rateLimitExceeded"), (503, "backendError")):
            wire.faults.errors = [PreparedError("POST", "instances", error(status, reason, "Slow down."))]
            with pytest.raises(Exception, match="Slow down") as raised:
                await made.launch(asked)
            assert not isinstance(raised.value, LaunchRefused)
        wire.faults.lost = 1
        with pytest.raises(Exception, match=r"aborted|closed") as raised:
            await made.launch(asked)
        assert not isinstance(raised.value, LaunchRefused)
        await made.launch(asked)
        wire.by_request.clear()  # Google does not remember requests for ever
        await made.launch(asked)
        assert wire.created == [NAME]


@in_event_loop
async def test_a_spot_machine_that_was_taken_back_says_so_first_and_when_it_is_gone(
    wire: GcpWire, server: Server
) -> None:
    async with provider(server, spot="only") as (made, types):
        await made.launch(launch_of(types["cloud-e2-standard-4-us-central1-a-spot"]))
        await made.machines("us")
        wire.preempt(NAME, stopping=True)
        (seen,) = await made.machines("us")
        assert seen.state is MachineState.ENDING
        assert seen.ends_at is not None
        assert "preempted" in seen.reason
        del wire.instances[NAME]
        for _ in range(2):
            (seen,) = await made.machines("us")
            assert seen.state is MachineState.ENDED
            assert "preempted" in seen.reason


@in_event_loop
async def test_work_on_a_spot_machine_that_is_taken_back_is_drained_and_lost_with_the_reason(
    wire: GcpWire, server: Server, tmp_path: Path
) -> None:
    async with scene(server, tmp_path, spot="only") as at:
        work = await at.rig.start_new()
        (name,) = wire.created
        wire.preempt(name, stopping=True)
        await at.until(lambda: bool(at.reports.of(NodeDrained)), "the drain")
        del wire.instances[name]
        end = await at.rig.finished(work.key)
        assert "preempted" in end.reason
        again = await at.rig.start_new()  # on a new machine of the same node; the old one is still told as ended
        assert again.node == work.node
        assert len(wire.created) == 2
        asked = len(wire.asked)
        await at.until(lambda: len(wire.asked) > asked + 10, "some looks at the provider")
        assert not at.reports.about(TaskFinished, again.key)


@in_event_loop
async def test_a_stopped_instance_is_shown_as_stopped(wire: GcpWire, server: Server) -> None:
    async with provider(server) as (made, types):
        await made.launch(launch_of(types["cloud-e2-standard-4-us-central1-a"]))
        wire.instances[NAME].status = "TERMINATED"
        (seen,) = await made.machines("us")
        assert (seen.state, seen.reason) == (MachineState.STOPPED, "Google says that it is TERMINATED")


@in_event_loop
async def test_work_goes_elsewhere_when_a_zone_is_out_of_stock(wire: GcpWire, server: Server, tmp_path: Path) -> None:
    wire.no_stock["e2-standard-4"] = "ZONE_RESOURCE_POOL_EXHAUSTED", "The zone has no more."
    async with scene(server, tmp_path) as at:
        work = await at.rig.bind_new()
        failed = await at.reports.until(BindFailed, work.key)
        assert failed.reason == "stock-out: ZONE_RESOURCE_POOL_EXHAUSTED: The zone has no more."
        assert not at.reports.online(work.node)


@in_event_loop
async def test_after_a_crash_around_the_launch_there_is_one_instance(
    wire: GcpWire, server: Server, tmp_path: Path
) -> None:
    wire.provision_s = 0.3
    async with scene(server, tmp_path) as at:
        work = await at.rig.bind_new()
        await at.until(lambda: bool(wire.created), "the launch")
    wire.faults.list_lag_s = 0.2  # the list does not show it at first
    async with scene(server, tmp_path) as later:
        await later.rig.backend.reconcile([work])
        await later.reports.until(TaskStarted, work.key)
        assert len(wire.created) == 1


@in_event_loop
async def test_orphans_are_reaped_and_the_instances_of_others_are_not(
    wire: GcpWire, server: Server, tmp_path: Path
) -> None:
    async with scene(server, tmp_path, reap_after=0.2) as at:
        await at.rig.start_new()
        (ours,) = wire.created
        owner = wire.instances[ours].body["labels"]["dovetail-owner"]
        made = at.provider()
        kind = (await made.types())[0]
        await made.launch(launch_of(kind, token="feedfeedfeedfeed", owner=owner))
        await made.launch(launch_of(kind, token="0000000000000000", owner="somebody"))
        await made.close()
        await at.until(lambda: set(wire.left()) == {ours, "dovetail-0000000000000000"}, "the reaper")


@in_event_loop
async def test_current_prices_are_the_sum_of_the_parts(wire: GcpWire, server: Server) -> None:
    def sku(description: str, usage: str, usd: float, region: str = "us-central1") -> dict[str, Any]:
        price = {"currencyCode": "USD", "units": str(int(usd)), "nanos": round((usd - int(usd)) * 1e9)}
        rates = {"usageUnit": "h", "tieredRates": [{"startUsageAmount": 0, "unitPrice": price}]}
        return {
            "description": description,
            "category": {"resourceFamily": "Compute", "usageType": usage},
            "serviceRegions": [region],
            "pricingInfo": [{"pricingExpression": rates}],
        }

    wire.skus = [
        sku("E2 Instance Core running in Americas", "OnDemand", 0.02),
        sku("E2 Instance Ram running in Americas", "OnDemand", 0.003),
        sku("Spot Preemptible E2 Instance Core running in Americas", "Preemptible", 0.01),
        sku("Spot Preemptible E2 Instance Ram running in Americas", "Preemptible", 0.001),
        sku("E2 Instance Core running in Paris", "OnDemand", 9.0, "europe-west9"),
        sku("Commitment v1: E2 Cpu in Americas for 1 Year", "Commit1Yr", 0.001),
        sku("G2 Instance Core running in Americas", "OnDemand", 0.025),
        sku("G2 Instance Ram running in Americas", "OnDemand", 0.003),
        sku("Nvidia L4 GPU running in Americas", "OnDemand", 1.5),
    ]
    async with provider(server, price_key=API_KEY, spot="allowed", types=["e2-standard-4", "g2-standard-4"]) as (
        made,
        types,
    ):
        prices = {name: one.node.offer.price_per_hour for name, one in types.items() if one.node.offer}
        assert prices["cloud-e2-standard-4-us-central1-a"] == pytest.approx(4 * 0.02 + 16 * 0.003)
        assert prices["cloud-e2-standard-4-us-central1-a-spot"] == pytest.approx(4 * 0.01 + 16 * 0.001)
        assert prices["cloud-g2-standard-4-us-central1-a"] == pytest.approx(4 * 0.025 + 16 * 0.003 + 1.5)
        assert prices["cloud-g2-standard-4-us-central1-a-spot"] == 0.42396  # of the table
        wire.faults.errors = [PreparedError("GET", "skus", error(403, "forbidden", "no"))]
        again = {one.name: one.node.offer.price_per_hour for one in await made.types() if one.node.offer}
        assert again["cloud-e2-standard-4-us-central1-a"] == 0.13402


@pytest.mark.parametrize("seed", seeds(15))
@in_event_loop
async def test_wherever_a_crash_falls_there_is_one_machine_and_the_work_runs(
    seed: int, wire: GcpWire, server: Server, tmp_path: Path
) -> None:
    """With answers that get lost, and lists that show a machine late."""
    random = Random(seed)
    wire.provision_s = random.choice([0.0, 0.1, 0.3])
    wire.faults.lost, wire.faults.list_lag_s = random.randrange(3), random.choice([0.0, 0.2])
    async with scene(server, tmp_path) as at:
        work = await at.rig.bind_new()
        await asyncio.sleep(random.uniform(0.0, 0.3))
    async with scene(server, tmp_path) as later:
        await later.rig.backend.reconcile([work])
        await later.reports.until(TaskStarted, work.key)
    assert len(wire.created) == 1
