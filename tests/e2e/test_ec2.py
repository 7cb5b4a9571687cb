"""A real server with EC2 as a backend: instances of moto are launched, real agents join and run real work."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.server_process import ServerProcess
from tests.e2e.warm_shell import run_warm
from tests.patience import wait_for
from tests.servers.aws_faults import AwsFaults, aws_faults
from tests.servers.booted_machines import BootedMachines, booted_machines
from tests.servers.moto import IMAGE, MotoServer

from dovetail.client import Client

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("moto")]
PROGRAM = Path(sys.executable).parent / "dovetail"
ON_AWS = {"backends": {"allow": ["aws"]}, "resources": {"cpu": 1, "memory": "1GiB"}}


def ec2(url: str, port: int = 1, **fields: Any) -> dict[str, Any]:
    return {
        "kind": "ec2",
        "regions": ["us-east-1"],
        "zones": ["us-east-1a"],
        "types": ["m5.large", "m5.xlarge"],
        "image": IMAGE,
        "live_prices": False,
        "access_key": "testing",
        "secret_key": "testing",
        "endpoint_url": url,
        "poll": "200ms",
        "idle": "2s",
        "reap_after": "1h",
        "join": {"server": f"http://127.0.0.1:{port}", "install": "", "program": str(PROGRAM)},
        **fields,
    }


def server_with(folder: Path, url: str, **fields: Any) -> ServerProcess:
    server = ServerProcess(folder)
    settings = {"backends": {"aws": ec2(url, server.port, **fields)}, "loop": {"heartbeat_timeout": "20s"}}
    (folder / "settings.json").write_text(json.dumps(settings))
    return server


@pytest.fixture
def faults(moto: MotoServer) -> Iterator[AwsFaults]:
    moto.reset()
    with aws_faults(moto.url) as found:
        yield found


def states(moto: MotoServer) -> list[str]:
    return sorted(one["State"]["Name"] for one in moto.instances())


def shell(server: ServerProcess, *words: str) -> str:
    found = run_warm([*words, "--url", server.url], {**os.environ, "COLUMNS": "160"})
    assert found.returncode == 0, found
    return str(found.stdout)


def told(machines: BootedMachines) -> str:
    assert machines.trouble is None, machines.trouble
    return "\n".join(one.log_tail for one in machines.on.values())


def test_work_runs_on_an_instance_that_is_launched_for_it_and_ended_when_it_is_idle(
    moto: MotoServer, faults: AwsFaults, tmp_path: Path
) -> None:
    with (
        booted_machines(moto, tmp_path / "machines") as machines,
        server_with(tmp_path, faults.url) as server,
        Client(server.url) as client,
    ):
        machines.join(server.url)
        wait_for(lambda: len(client.cloud_prices()) == 2, "the offers")
        assert states(moto) == []
        prices = shell(server, "cloud", "prices")
        assert "m5.xlarge" in prices
        assert "0.1920 USD" in prices
        (first,) = client.submit(
            {"name": "hello", **ON_AWS, "run": {"command": ["sh", "-c", "echo from $0; sleep 4", "there"]}}
        )
        wait_for(lambda: client.workload("hello")["state"] == "running", f"the job; {told(machines)}")
        (row,) = client.cloud_instances()["items"]
        assert (row["state"], row["known"], row["node"][:4]) == ("running", True, "aws-")
        assert [task["name"] for task in row["tasks"]] == ["hello"]
        assert row["price_per_hour"] in (0.096, 0.192)
        listed = shell(server, "cloud", "instances")
        assert row["id"] in listed
        assert "hello.0" in listed
        wait_for(lambda: client.workload("hello")["finished_at"])
        assert client.workload("hello")["state"] == "succeeded", told(machines)
        assert client.logs("hello").text == "from there\n"
        client.submit({"name": "again", **ON_AWS, "run": {"command": ["true"]}})
        wait_for(lambda: client.workload("again")["state"] == "succeeded", "the second job")
        assert len(moto.instances()) == 1  # it was still warm
        wait_for(lambda: states(moto) == ["terminated"], "the end of the idle instance")
        wait_for(lambda: client.cloud_instances()["items"] == [], "nothing runs")
        wait_for(lambda: not machines.on, "the machine is off")
        assert first


def test_work_goes_elsewhere_when_there_is_no_capacity_and_prices_say_why(
    moto: MotoServer, faults: AwsFaults, tmp_path: Path
) -> None:
    faults.refuses["RunInstances m5.large"] = "InsufficientInstanceCapacity"
    faults.refuses["RunInstances m5.xlarge"] = "InsufficientInstanceCapacity"
    with server_with(tmp_path, faults.url) as server, Client(server.url) as client:
        wait_for(lambda: len(client.cloud_prices()) == 2, "the offers")
        client.submit({"name": "moved", **ON_AWS})
        wait_for(lambda: not any(row["offered"] for row in client.cloud_prices()), "both are out of stock")
        assert {row["why_not"][:9] for row in client.cloud_prices()} == {"stock-out"}
        assert moto.instances() == []
        assert "stock-out" in shell(server, "cloud", "prices")
        assert client.workload("moved")["state"] == "pending"


def test_an_instance_that_nobody_knows_of_is_named_and_reaped(
    moto: MotoServer, faults: AwsFaults, tmp_path: Path
) -> None:
    with server_with(tmp_path, faults.url, idle="1h") as server, Client(server.url) as client:
        wait_for(lambda: client.cloud_prices(), "the offers")
        client.submit({"name": "kept", **ON_AWS})
        (ours,) = wait_for(lambda: client.cloud_instances()["items"], "the instance")
        wait_for(lambda: client.cloud_instances()["items"][0]["known"])
        ec2 = moto.client()
        tags = [one for one in moto.instances()[0]["Tags"] if one["Key"] == "dovetail-owner"]
        for marks in (tags, [{"Key": "dovetail-owner", "Value": "somebody-else"}], []):
            given = [{"ResourceType": "instance", "Tags": marks}] if marks else []
            ec2.run_instances(ImageId=IMAGE, MinCount=1, MaxCount=1, TagSpecifications=given)
        found = client.reap(dry_run=True)["items"]
        assert len(found) == 1
        assert found[0]["known"] is False
        assert states(moto) == ["running"] * 4
        text = shell(server, "cloud", "reap", "--dry-run")
        assert "1 machine that nobody knows of" in text
        assert "1 machine that nobody knows of ended" in shell(server, "cloud", "reap")
        assert states(moto) == ["running"] * 3 + ["terminated"]
        assert {row["id"] for row in client.cloud_instances()["items"]} == {ours["id"]}


def test_a_cloud_that_cannot_be_asked_is_named(moto: MotoServer, faults: AwsFaults, tmp_path: Path) -> None:
    with server_with(tmp_path, faults.url) as server, Client(server.url) as client:
        wait_for(lambda: client.cloud_prices(), "the offers")
        faults.refuses["DescribeInstances"] = "UnauthorizedOperation"
        found = wait_for(lambda: client.cloud_instances()["problems"], "the problem")
        assert found[0]["backend"] == "aws"
        assert "UnauthorizedOperation" in found[0]["problem"]
