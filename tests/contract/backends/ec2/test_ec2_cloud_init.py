"""EC2 without agents: jobs in user data, their ends read with GetConsoleOutput, through boto3 and HTTP against moto."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract.backends.conformance import BackendConformance, Subject
from tests.contract.backends.ec2.rig import provider_for, settings_for
from tests.contract.backends.machines.job_machines import CountedRuns
from tests.contract.backends.machines.room import NoTokens
from tests.servers.aws_faults import AwsFaults, aws_faults
from tests.servers.job_machines import job_machines
from tests.servers.moto import MotoServer

from dovetail.backends.contract import Backend
from dovetail.backends.ec2.provider import Ec2Provider
from dovetail.backends.machines.choosing import cloud_backend
from dovetail.backends.machines.provider import Launch, MachineState
from dovetail.testing.lossy_proxy import LossyProxy
from dovetail.testing.rig import in_event_loop

pytestmark = pytest.mark.xdist_group("moto")
#: Enough nodes that each test has one of its own for each task.
TYPES = ["m5.large", "m5.xlarge", "m5.2xlarge", "m5.4xlarge"]
NODES = 2 * len(TYPES)


class TestEc2WithoutAgents(BackendConformance):
    @pytest.fixture
    def subject(self, moto: MotoServer, tmp_path: Path) -> Iterator[Subject]:
        moto.reset()
        runs = CountedRuns(tmp_path / "runs")
        with (
            aws_faults(moto.url) as faults,
            LossyProxy(faults.url.removeprefix("http://")) as proxy,
            job_machines(moto, tmp_path / "machines") as machines,
        ):
            faults.consoles = machines.console

            def backend() -> Backend:
                settings = settings_for(f"http://{proxy.address}", types=TYPES, join=None, cloud_init={})
                made = cloud_backend("aws", Ec2Provider("aws", settings), settings, tmp_path / "backend")
                made.use_credentials(NoTokens())
                return made

            yield Subject(
                backend,
                runs.work,
                times_run=runs.times_run,
                runs_now=runs.runs,
                nodes_used=NODES,
                cut_replies=proxy.cut_replies,
                break_calls=proxy.break_calls,
                cut_off=lambda _key: proxy.break_calls(),
            )


@pytest.fixture
def faults(moto: MotoServer) -> Iterator[AwsFaults]:
    moto.reset()
    with aws_faults(moto.url) as found:
        yield found


@in_event_loop
async def test_a_console_is_asked_for_as_it_is_now_and_where_that_is_not_possible_as_it_was(faults: AwsFaults) -> None:
    provider = provider_for(faults.url)
    machine = await provider.launch(Launch("n-1", (await provider.types())[0], "t-1", "us", "#!/bin/sh\n", True))
    faults.consoles = lambda name: f"console of {name} ü\r\n"
    shown = await provider.console(machine)
    assert (shown.text, shown.live) == (f"console of {machine.id} ü\r\n", True)
    faults.nitro = False
    other = provider_for(faults.url)  # after a restart: it does not know the region of the instance
    shown = await other.console(machine)
    assert (shown.text, shown.live) == (f"console of {machine.id} ü\r\n", False)
    assert [call.get("Latest") for call in faults.calls("GetConsoleOutput")] == ["true", "true", None]
    faults.refuses["GetConsoleOutput"] = "UnauthorizedOperation"
    with pytest.raises(Exception, match="UnauthorizedOperation"):
        await provider.console(machine)
    faults.refuses["GetConsoleOutput"] = "InvalidInstanceID.NotFound"
    assert (await provider.console(machine)).text == ""
    faults.refuses.clear()
    await provider.end(machine)
    (ended,) = await provider.machines("us")
    assert ended.state is MachineState.ENDED
    assert (await provider.console(ended)).text.startswith("console of")  # AWS keeps it for an hour
    for one in (provider, other):
        await one.close()
