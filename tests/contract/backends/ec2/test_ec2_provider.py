"""What is asked of EC2, and what becomes of its answers: over HTTP, against moto."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.contract.backends.ec2.rig import Cloud, provider_for, tag
from tests.servers.aws_faults import AwsFaults, aws_faults
from tests.servers.moto import MotoServer

from dovetail.backends.ec2.provider import Ec2Provider
from dovetail.backends.machines.provider import Launch, LaunchRefused, MachineState, MachineType, RefusalKind
from dovetail.testing.rig import in_event_loop

pytestmark = pytest.mark.xdist_group("moto")
SSM_IMAGE = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"


@pytest.fixture
def cloud(moto: MotoServer) -> Cloud:
    moto.reset()
    return Cloud(moto)


@pytest.fixture
def faults(cloud: Cloud, moto: MotoServer) -> Iterator[AwsFaults]:
    with aws_faults(moto.url) as found:
        yield found


async def first(provider: Ec2Provider) -> MachineType:
    return (await provider.types())[0]


def launch_of(kind: MachineType, node: str = "n-1", token: str = "t-1", owner: str = "us") -> Launch:
    return Launch(node, kind, token, owner, "#!/bin/sh\necho joined\n")


@in_event_loop
async def test_types_have_the_shape_that_aws_says_and_the_price_of_the_table(moto: MotoServer) -> None:
    provider = provider_for(moto.url, types=["m5.large", "m7g.large", "g5.12xlarge", "m5.metal"], zones=[])
    types = {one.name: one for one in await provider.types()}
    assert "aws-m5.large-us-east-1a" in types
    assert not [name for name in types if "m7g" in name or "metal" in name]
    small, large = types["aws-m5.large-us-east-1a"], types["aws-g5.12xlarge-us-east-1a"]
    assert (small.node.capacity.cpu, small.quota, small.quota_units) == (2, "us-east-1/standard/on-demand", 2)
    assert small.node.offer is not None
    assert small.node.offer.price_per_hour == 0.096
    assert (large.node.gpus[0].count, large.node.gpus[0].model) == (4, "A10G")
    assert large.quota == "us-east-1/g-and-vt/on-demand"
    arm = provider_for(moto.url, types=["m7g.large"], architecture="arm64")
    assert len(await arm.types()) == 2
    metal = provider_for(moto.url, types=["m5.metal"], live_prices=False)
    assert await metal.types() == []  # without a price: not in the table
    for one in (provider, arm, metal):
        await one.close()


@in_event_loop
async def test_live_spot_prices_count_and_a_price_list_that_fails_leaves_the_table(moto: MotoServer) -> None:
    provider = provider_for(moto.url, live_prices=True, spot="allowed")
    offers = {one.name: one.node.offer for one in await provider.types()}
    spot, usual = offers["aws-m5.large-us-east-1a-spot"], offers["aws-m5.large-us-east-1a"]
    assert spot is not None
    assert usual is not None
    assert (spot.price_per_hour, spot.spot) == (0.00001, True)  # as moto says
    assert usual.price_per_hour == 0.096
    await provider.close()


@in_event_loop
async def test_an_instance_has_its_marks_from_the_first_moment_and_runs_our_script(
    cloud: Cloud, faults: AwsFaults
) -> None:
    provider = provider_for(faults.url, tags={"team": "ops"}, disk="20GiB", image=SSM_IMAGE, spot="only")
    machine = await provider.launch(launch_of(await first(provider)))
    (instance,) = cloud.instances()
    assert machine.id == instance["InstanceId"]
    marks = {key: tag(instance, key) for key in ("dovetail-owner", "dovetail-node", "dovetail-launch", "team", "Name")}
    assert marks == {
        "dovetail-owner": "us",
        "dovetail-node": "n-1",
        "dovetail-launch": "t-1",
        "team": "ops",
        "Name": "n-1",
    }
    assert instance["InstanceLifecycle"] == "spot"
    assert instance["Placement"]["AvailabilityZone"] == "us-east-1a"
    (request,) = faults.calls("RunInstances")
    assert request["ClientToken"] == "t-1"
    assert request["InstanceInitiatedShutdownBehavior"] == "terminate"
    assert not faults.calls("CreateTags")  # they came with the launch
    await provider.close()


@in_event_loop
async def test_a_launch_that_is_repeated_finds_the_instance_of_the_first(cloud: Cloud, faults: AwsFaults) -> None:
    provider = provider_for(faults.url)
    launch = launch_of(await first(provider))
    faults.loses["RunInstances"] = 1
    with pytest.raises(Exception, match="Connection"):
        await provider.launch(launch)
    again = await provider.launch(launch)
    assert [one["InstanceId"] for one in cloud.instances()] == [again.id]
    assert len(faults.calls("RunInstances")) == 1
    await provider.close()


@in_event_loop
async def test_only_machines_of_the_owner_are_listed_page_by_page(moto: MotoServer, cloud: Cloud) -> None:
    provider = provider_for(moto.url)
    kind = await first(provider)
    for number in range(3):
        await provider.launch(launch_of(kind, f"n-{number}", f"t-{number}"))
    await provider.launch(launch_of(kind, "theirs", "t-9", owner="others"))
    found = await provider.machines("us")
    assert {one.node for one in found} == {"n-0", "n-1", "n-2"}
    assert {one.state for one in found} == {MachineState.RUNNING}
    assert {one.type for one in found} == {"m5.large"}
    assert all(one.address and one.launched_at for one in found)
    await provider.close()


@in_event_loop
async def test_ending_twice_changes_nothing_and_an_unknown_one_has_ended(moto: MotoServer, cloud: Cloud) -> None:
    provider = provider_for(moto.url)
    machine = await provider.launch(launch_of(await first(provider)))
    other = provider_for(moto.url)  # after a restart: it does not know the region of the instance
    for _ in range(2):
        await other.end(machine)
    await other.end(replace(machine, id="i-0123456789abcdef0"))
    (seen,) = await provider.machines("us")
    assert seen.state is MachineState.ENDED
    assert "User initiated" in seen.reason
    await provider.close()
    await other.close()


@pytest.mark.parametrize(
    ("code", "kind", "others"),
    [
        ("InsufficientInstanceCapacity", RefusalKind.STOCK_OUT, {"aws-m5.large-us-east-1a"}),
        ("SpotMaxPriceTooLow", RefusalKind.STOCK_OUT, {"aws-m5.large-us-east-1a"}),
        ("InsufficientFreeAddressesInSubnet", RefusalKind.STOCK_OUT, {"*-us-east-1a"}),
        ("VcpuLimitExceeded", RefusalKind.QUOTA, {"aws-m5.large-us-east-1a", "aws-m5.large-us-east-1b"}),
        ("UnauthorizedOperation", RefusalKind.PERMISSION, {"*"}),
        ("InvalidAMIID.NotFound", RefusalKind.INVALID, {"*"}),
        ("InvalidParameterValue", RefusalKind.INVALID, {"aws-m5.large-us-east-1a"}),
        ("Unsupported", RefusalKind.INVALID, {"aws-m5.large-us-east-1a"}),
    ],
)
def test_an_error_says_which_types_would_be_refused_too(
    faults: AwsFaults, code: str, kind: RefusalKind, others: set[str]
) -> None:
    @in_event_loop
    async def refused() -> None:
        provider = provider_for(faults.url, types=["m5.large", "g5.xlarge"])
        offered = await provider.types()
        faults.refuses["RunInstances"] = code
        with pytest.raises(LaunchRefused, match=code) as caught:
            await provider.launch(launch_of(offered[0]))
        assert caught.value.kind is kind
        every = {one.name for one in offered}
        wanted = {"*": every, "*-us-east-1a": {name for name in every if name.endswith("-us-east-1a")}}
        assert set(caught.value.types) == set().union(*(wanted.get(one, {one}) for one in others))
        await provider.close()

    refused()


@pytest.mark.parametrize("code", ["RequestLimitExceeded", "InternalError", "IdempotentParameterMismatch", "Unheard.Of"])
def test_other_errors_are_repeated_for_nobody_knows_what_was_launched(faults: AwsFaults, code: str) -> None:
    @in_event_loop
    async def unknown() -> None:
        provider = provider_for(faults.url)
        kind = await first(provider)
        faults.refuses["RunInstances"] = code
        with pytest.raises(Exception, match=code) as caught:
            await provider.launch(launch_of(kind))
        assert not isinstance(caught.value, LaunchRefused)
        assert len(faults.calls("RunInstances")) == 1  # the SDK does not repeat it behind our back
        await provider.close()

    unknown()


@in_event_loop
async def test_a_subnet_that_does_not_exist_is_refused_for_its_zone(moto: MotoServer, cloud: Cloud) -> None:
    provider = provider_for(moto.url, subnets={"us-east-1b": "subnet-0123456789abcdef0"}, zones=[])
    offered = await provider.types()
    assert [one.name for one in offered] == ["aws-m5.large-us-east-1b"]
    with pytest.raises(LaunchRefused, match=r"InvalidSubnetID\.NotFound"):
        await provider.launch(launch_of(offered[0]))
    assert cloud.instances() == []
    await provider.close()
