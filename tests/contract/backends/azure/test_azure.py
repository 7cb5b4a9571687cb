"""Machines of Azure keep the promises of every backend, through Azure's SDK against a fake of ours at the wire."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.contract.backends.azure.scene import AzureScene, azure_settings, azure_wire, launch_of
from tests.contract.backends.conformance import BackendConformance, Subject
from tests.examples import seeds
from tests.servers.azure_wire import AzureWire, error
from tests.servers.wire import PreparedError

from dovetail.backends.azure.provider import AzureMachines
from dovetail.backends.machines.provider import LaunchRefused, MachineState, MachineType, RefusalKind
from dovetail.model.event import BindFailed, TaskStarted
from dovetail.testing.rig import in_event_loop


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[AzureWire, Path]]:
    with azure_wire(tmp_path_factory.mktemp("azure")) as found:
        yield found


@pytest.fixture
def wire(server: tuple[AzureWire, Path]) -> AzureWire:
    """Without the machines and the faults of the test before."""
    found = server[0]
    found.vms.clear()
    for parts in found.parts.values():
        parts.clear()
    found.created.clear()
    found.no_stock.clear()
    found.asked.clear()
    found.prices.clear()
    found.skus.clear()
    found.cores, found.forbidden, found.provision_s = None, False, 0.05
    found.faults.__init__()  # type: ignore[misc]
    return found


class TestAzureBackend(BackendConformance):
    @pytest.fixture
    def subject(self, wire: AzureWire, server: tuple[AzureWire, Path], tmp_path: Path) -> Subject:
        return AzureScene(wire, server[1], tmp_path).subject()


@asynccontextmanager
async def provider(
    server: tuple[AzureWire, Path], **more: Any
) -> AsyncIterator[tuple[AzureMachines, list[MachineType]]]:
    made = AzureMachines("cloud", azure_settings(*server, **more), look_s=0.02)
    try:
        yield made, await made.types()
    finally:
        await made.close()


@asynccontextmanager
async def scene(server: tuple[AzureWire, Path], folder: Path, **more: Any) -> AsyncIterator[AzureScene]:
    made = AzureScene(*server, folder, **more)
    await made.rig.backend.start(made.reports.report)
    try:
        yield made
    finally:
        await made.rig.backend.close()


@in_event_loop
async def test_types_are_sizes_in_zones_with_prices_and_places(wire: AzureWire, server: tuple[AzureWire, Path]) -> None:
    async with provider(server, spot="allowed") as (_, types):
        names = [kind.name for kind in types]
        assert "cloud-Standard_D4s_v5-eastus-1" in names
        assert "cloud-Standard_D8s_v5-eastus-2-spot" in names
        assert len(names) == 8
        kind = next(one for one in types if one.name == "cloud-Standard_D4s_v5-eastus-1")
        assert kind.quota == "eastus/DSv5"
        assert kind.quota_units == 4
        assert kind.node.offer is not None
        assert kind.node.offer.place == "azure/eastus"
        assert kind.node.offer.price_per_hour == 0.192


@in_event_loop
async def test_a_machine_has_its_marks_its_script_and_parts_that_go_with_it(
    wire: AzureWire, server: tuple[AzureWire, Path]
) -> None:
    async with provider(server, spot="only", public_address=True) as (made, types):
        kind = next(one for one in types if one.name == "cloud-Standard_D4s_v5-eastus-2-spot")
        machine = await made.launch(launch_of(kind))
        assert machine.id == "dovetail-0123456789abcdef"
        body = wire.vms[machine.id].body
        assert body["tags"] == {
            "dovetail-owner": "us",
            "dovetail-node": f"{kind.name}-1",
            "dovetail-launch": "0123456789abcdef",
        }
        assert body["zones"] == ["2"]
        assert body["properties"]["priority"] == "Spot"
        assert body["properties"]["evictionPolicy"] == "Delete"
        assert wire.script(machine.id) == "#!/bin/sh\necho hello\n"
        (seen,) = await made.machines("us")
        assert (seen.state, seen.token, seen.address) == (MachineState.RUNNING, "0123456789abcdef", "10.0.0.5")
        assert seen.type == "Standard_D4s_v5"
        assert await made.machines("others") == []
        assert all(wire.left().values())
        await made.end(seen)
        await made.end(seen)  # twice changes nothing
        while await made.machines("us"):
            pass
        assert not any(wire.left().values())


@pytest.mark.parametrize(
    ("code", "kind", "also"),
    [
        (
            "SkuNotAvailable",
            RefusalKind.STOCK_OUT,
            ["cloud-Standard_D4s_v5-eastus-1", "cloud-Standard_D4s_v5-eastus-1-spot"],
        ),
        ("AllocationFailed", RefusalKind.STOCK_OUT, ["cloud-Standard_D4s_v5-eastus-1"]),
        ("ZonalAllocationFailed", RefusalKind.STOCK_OUT, ["cloud-Standard_D4s_v5-eastus-1"]),
    ],
)
@in_event_loop
async def test_what_azure_has_not_is_refused_and_leaves_nothing(
    code: str, kind: RefusalKind, also: list[str], wire: AzureWire, server: tuple[AzureWire, Path]
) -> None:
    wire.no_stock["Standard_D4s_v5"] = code
    async with provider(server, spot="allowed") as (made, types):
        asked = next(one for one in types if one.name == "cloud-Standard_D4s_v5-eastus-1")
        with pytest.raises(LaunchRefused, match=code) as refused:
            await made.launch(launch_of(asked))
        assert refused.value.kind is kind
        assert sorted(refused.value.types) == also
        while any(wire.left().values()):
            pass


@in_event_loop
async def test_a_quota_concerns_the_sizes_of_its_family(wire: AzureWire, server: tuple[AzureWire, Path]) -> None:
    wire.cores = 3
    async with provider(server, types=["Standard_D4s_v5", "Standard_D8s_v5", "Standard_E4s_v5"]) as (made, types):
        asked = next(one for one in types if one.name == "cloud-Standard_D4s_v5-eastus-1")
        with pytest.raises(LaunchRefused, match="OperationNotAllowed") as refused:
            await made.launch(launch_of(asked))
        assert refused.value.kind is RefusalKind.QUOTA
        assert {name.split("-")[1] for name in refused.value.types} == {"Standard_D4s_v5", "Standard_D8s_v5"}


@in_event_loop
async def test_missing_rights_and_a_wrong_secret_concern_everything(
    wire: AzureWire, server: tuple[AzureWire, Path]
) -> None:
    wire.forbidden = True
    async with provider(server) as (made, types):
        with pytest.raises(LaunchRefused, match="AuthorizationFailed") as refused:
            await made.launch(launch_of(types[0]))
        assert refused.value.kind is RefusalKind.PERMISSION
        assert len(refused.value.types) == len(types)
    async with provider(server, client_secret="wrong") as (made, types):
        with pytest.raises(LaunchRefused, match="AADSTS7000215") as refused:
            await made.launch(launch_of(types[0]))
        assert refused.value.kind is RefusalKind.PERMISSION


@in_event_loop
async def test_an_image_that_does_not_exist_is_refused_as_invalid(
    wire: AzureWire, server: tuple[AzureWire, Path]
) -> None:
    async with provider(server, image="nobody:has:this:one") as (made, types):
        with pytest.raises(LaunchRefused, match="PlatformImageNotFound") as refused:
            await made.launch(launch_of(types[0]))
        assert refused.value.kind is RefusalKind.INVALID


@in_event_loop
async def test_throttling_and_lost_answers_are_no_refusals_and_leave_one_machine(
    wire: AzureWire, server: tuple[AzureWire, Path]
) -> None:
    throttled = error(429, "TooManyRequests", "Slow down.")
    wire.faults.errors = [PreparedError("PUT", "virtualMachines", throttled, times=3)]
    async with provider(server) as (made, types):
        with pytest.raises(Exception, match="TooManyRequests"):
            await made.launch(launch_of(types[0]))
        wire.faults.lost = 1
        await made.launch(launch_of(types[0]))
        await made.launch(launch_of(types[0]))
        assert wire.created == ["dovetail-0123456789abcdef"]


@in_event_loop
async def test_a_stopped_machine_and_parts_without_one_are_shown_as_stopped_and_can_be_ended(
    wire: AzureWire, server: tuple[AzureWire, Path]
) -> None:
    async with provider(server) as (made, types):
        machine = await made.launch(launch_of(types[0]))
        wire.vms[machine.id].power = "deallocated"
        (seen,) = await made.machines("us")
        assert (seen.state, seen.reason) == (MachineState.STOPPED, "Azure says that it is deallocated")
        for parts in wire.parts.values():
            for part in parts.values():
                part.goes_with_vm = False
        wire.evict(machine.id)
        assert wire.left()["networkInterfaces"]
        assert wire.left()["disks"]
        (left,) = await made.machines("us")
        assert (left.state, left.token) == (MachineState.STOPPED, "")
        await made.end(left)
        assert not any(wire.left().values())


@in_event_loop
async def test_work_goes_elsewhere_when_a_size_is_out_of_stock(
    wire: AzureWire, server: tuple[AzureWire, Path], tmp_path: Path
) -> None:
    wire.no_stock["Standard_D4s_v5"] = "AllocationFailed"
    async with scene(server, tmp_path) as at:
        work = await at.rig.bind_new()
        failed = await at.reports.until(BindFailed, work.key)
        assert failed.reason.startswith("stock-out: AllocationFailed: Allocation failed.")
        assert not at.reports.online(work.node)


@in_event_loop
async def test_after_a_crash_around_the_launch_there_is_one_machine(
    wire: AzureWire, server: tuple[AzureWire, Path], tmp_path: Path
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
async def test_orphans_are_reaped_with_all_their_parts(
    wire: AzureWire, server: tuple[AzureWire, Path], tmp_path: Path
) -> None:
    async with scene(server, tmp_path, reap_after=0.2) as at:
        await at.rig.start_new()
        (ours,) = wire.created
        tags = wire.vms[ours].body["tags"]
        made = at.provider()
        types = await made.types()
        await made.launch(launch_of(types[0], token="feedfeedfeedfeed", owner=tags["dovetail-owner"]))
        await made.launch(launch_of(types[0], token="0000000000000000", owner="somebody"))
        await made.close()
        kept = {ours, "dovetail-0000000000000000"}
        await at.until(lambda: set(wire.left()["virtualMachines"]) == kept, "the reaper")
        assert len(wire.left()["networkInterfaces"]) == len(wire.left()["disks"]) == 2


@in_event_loop
async def test_sizes_that_the_subscription_may_not_have_are_not_offered(
    wire: AzureWire, server: tuple[AzureWire, Path]
) -> None:
    def sku(size: str, zones: list[str], *limits: dict[str, Any], kind: str = "virtualMachines") -> dict[str, Any]:
        place = {"location": "eastus", "zones": zones}
        return {
            "name": size,
            "resourceType": kind,
            "locations": ["eastus"],
            "locationInfo": [place],
            "restrictions": list(limits),
        }

    closed = {"reasonCode": "NotAvailableForSubscription", "values": ["eastus"]}
    wire.skus = [
        sku("Premium_LRS", ["1", "2"], kind="disks"),
        sku("Standard_D4s_v5", ["1", "2", "3"], {"type": "Zone", "restrictionInfo": {"zones": ["1"]}, **closed}),
        sku("Standard_D8s_v5", ["1", "2", "3"], {"type": "Location", "restrictionInfo": {}, **closed}),
        sku("Standard_E4s_v5", ["1", "3"]),
    ]
    sizes = ["Standard_D4s_v5", "Standard_D8s_v5", "Standard_E4s_v5", "Standard_F4s_v2"]
    async with provider(server, check_sizes=True, types=sizes) as (_, types):
        names = {kind.name for kind in types}
        assert names == {"cloud-Standard_D4s_v5-eastus-2", "cloud-Standard_E4s_v5-eastus-1"}


@in_event_loop
async def test_current_prices_count_more_than_the_table(wire: AzureWire, server: tuple[AzureWire, Path]) -> None:
    def item(size: str, name: str, price: float, product: str = "Virtual Machines Dsv5 Series") -> dict[str, Any]:
        described = {"armRegionName": "eastus", "armSkuName": size, "skuName": name, "productName": product}
        return {
            **described,
            "retailPrice": price,
            "unitOfMeasure": "1 Hour",
            "type": "Consumption",
            "currencyCode": "USD",
        }

    wire.prices = [
        item("Standard_D4s_v5", "D4s v5", 0.2),
        item("Standard_D4s_v5", "D4s v5 Spot", 0.05),
        item("Standard_D4s_v5", "D4s v5 Low Priority", 0.01),
        item("Standard_D4s_v5", "D4s v5", 9.9, "Virtual Machines Dsv5 Series Windows"),
        item("Standard_D8s_v5", "D8s v5 Spot", 0.1),
    ]
    async with provider(server, live_prices=True, spot="allowed") as (made, types):
        prices = {one.name: one.node.offer.price_per_hour for one in types if one.node.offer}
        assert prices["cloud-Standard_D4s_v5-eastus-1"] == 0.2
        assert prices["cloud-Standard_D4s_v5-eastus-1-spot"] == 0.05
        assert prices["cloud-Standard_D8s_v5-eastus-1"] == 0.384
        assert prices["cloud-Standard_D8s_v5-eastus-2-spot"] == 0.1
        with wire.faults.unreachable():
            again = {one.name: one.node.offer.price_per_hour for one in await made.types() if one.node.offer}
        assert again["cloud-Standard_D4s_v5-eastus-1"] == 0.192


@pytest.mark.parametrize("seed", seeds(15))
@in_event_loop
async def test_wherever_a_crash_falls_there_is_one_machine_and_the_work_runs(
    seed: int, wire: AzureWire, server: tuple[AzureWire, Path], tmp_path: Path
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
