"""From an assignment to the container that is asked for."""

from typing import Any

import pytest

from dovetail.backends.contract import Assignment, Refusal
from dovetail.backends.docker.container import Identity, container_body, refuse_what_cannot_run
from dovetail.backends.docker.settings import DockerSettings
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload

IDENTITY = Identity("c0ffee", "docker")


def settings_of(host: dict[str, Any] | None = None, **fields: Any) -> DockerSettings:
    hosts = [{"name": "one", "url": "unix:///run/docker.sock"} | (host or {})]
    return DockerSettings.model_validate({"hosts": hosts} | fields)


def body_of(settings: DockerSettings | None = None, devices: tuple[int, ...] = (), **fields: Any) -> dict[str, Any]:
    given = settings or settings_of()
    spec = Workload.model_validate({"name": "w", "run": {"image": "tool", "command": ["go"]}} | fields)
    assignment = Assignment("7.2.3", TaskId(7, 2), "one", spec, devices)
    return container_body(assignment, IDENTITY, given.hosts[0], given, host_cores=4)


def test_what_is_asked_for_is_a_share_and_what_is_allowed_a_limit() -> None:
    host = body_of(resources={"cpu": "1.5", "memory": "1GiB"}, limits={"cpu": 2, "memory": "2GiB"})["HostConfig"]
    assert host["CpuShares"] == 1536
    assert host["NanoCpus"] == 2_000_000_000
    assert host["MemoryReservation"] == 2**30
    assert host["Memory"] == host["MemorySwap"] == 2**31


def test_without_limits_there_are_none() -> None:
    host = body_of(resources={"cpu": 1})["HostConfig"]
    assert not {"NanoCpus", "Memory", "MemorySwap", "MemoryReservation"} & set(host)


@pytest.mark.parametrize(("cores", "nano"), [("1m", 10_000_000), ("1000", 4_000_000_000)])
def test_limits_stay_within_what_docker_takes(cores: str, nano: int) -> None:
    assert body_of(limits={"cpu": cores})["HostConfig"]["NanoCpus"] == nano


def test_work_that_asks_for_no_processor_gets_the_smallest_share() -> None:
    assert body_of()["HostConfig"]["CpuShares"] == 2


def test_gpus_are_given_by_uuid_where_all_of_them_are_known() -> None:
    described = settings_of({"gpus": [{"count": 2, "uuids": ["GPU-a", "GPU-b"]}, {"count": 1, "uuids": ["GPU-c"]}]})
    request = {"Driver": "nvidia", "Capabilities": [["gpu"]]}
    assert body_of(described, (0, 2))["HostConfig"]["DeviceRequests"] == [request | {"DeviceIDs": ["GPU-a", "GPU-c"]}]


def test_gpus_are_given_by_number_where_they_have_no_uuid() -> None:
    mixed = settings_of({"gpus": [{"count": 1, "uuids": ["GPU-a"]}, {"count": 1}]})
    assert body_of(mixed, (0, 1))["HostConfig"]["DeviceRequests"][0]["DeviceIDs"] == ["0", "1"]
    assert "DeviceRequests" not in body_of(mixed)["HostConfig"]


def test_a_container_is_never_restarted_by_the_engine_and_can_be_found_again() -> None:
    body = body_of(deadline={"run_for": "90s"}, disruption={"grace": "2500ms"})
    assert body["HostConfig"]["RestartPolicy"] == {"Name": "no"}
    assert IDENTITY.key_of(body["Labels"]) == "7.2.3"
    assert Identity("c0ffee", "other").key_of(body["Labels"]) is None
    assert body["Labels"]["dovetail.run_for_s"] == "90.0"
    assert body["StopTimeout"] == 3
    assert IDENTITY.name("7.2.3") == "dovetail-c0ffee-7.2.3"


def test_variables_of_dovetail_count_before_those_of_the_workload() -> None:
    body = body_of(run={"image": "tool", "env": {"DOVETAIL_NODE": "mine", "A": "b=c"}}, replicas=5)
    assert {"A=b=c", "DOVETAIL_NODE=one", "DOVETAIL_TASK=7.2", "DOVETAIL_ATTEMPT=3"} <= set(body["Env"])
    assert not {"Entrypoint", "Cmd"} & set(body)  # the image says what runs


def test_a_command_takes_the_place_of_the_images_entry_point_and_command() -> None:
    body = body_of(run={"image": "tool", "command": ["go", "--fast"]})
    assert body["Entrypoint"] == ["go", "--fast"]
    assert "Cmd" not in body


def test_volumes_are_folders_or_names() -> None:
    volumes = [{"source": "/data", "target": "/in", "read_only": True}, {"source": "cache", "target": "/cache"}]
    assert body_of(run={"image": "tool", "volumes": volumes})["HostConfig"]["Mounts"] == [
        {"Type": "bind", "Source": "/data", "Target": "/in", "ReadOnly": True},
        {"Type": "volume", "Source": "cache", "Target": "/cache", "ReadOnly": False},
    ]


def test_a_host_may_have_a_network_of_its_own_and_output_a_limit() -> None:
    given = settings_of({"network": "host"}, network="none", log_size="10MB", user="1000:1000")
    body = body_of(given)
    assert body["HostConfig"]["NetworkMode"] == "host"
    assert body["HostConfig"]["LogConfig"] == {
        "Type": "json-file",
        "Config": {"max-size": "10000000b", "max-file": "2"},
    }
    assert body["User"] == "1000:1000"


@pytest.mark.parametrize("source", ["/data", "/data/", "/data/in/deep"])
def test_folders_below_the_allowed_ones_may_be_seen(source: str) -> None:
    refuse_what_cannot_run(_wanting(source), settings_of(allow_paths=["/data"]))


@pytest.mark.parametrize("source", ["/", "/database", "/etc"])
def test_other_folders_of_the_host_are_refused(source: str) -> None:
    with pytest.raises(Refusal, match="allow_paths"):
        refuse_what_cannot_run(_wanting(source), settings_of(allow_paths=["/data"]))


def _wanting(source: str) -> Workload:
    volumes = [{"source": source, "target": "/seen"}]
    return Workload.model_validate({"name": "w", "run": {"image": "tool", "volumes": volumes}})
