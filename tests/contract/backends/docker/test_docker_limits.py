"""Limits are those of the kernel: what a container asks for and may use at most is enforced on the host."""

from pathlib import Path

import pytest
from tests.contract.backends.conformance import LONG_S, run_async, started
from tests.contract.backends.docker.rig import NUMBERS, Hosts, docker_subject, shell
from tests.contract.backends.running import run_to_end
from tests.servers.docker import DockerServer

from dovetail.backends.contract import KillingBackend
from dovetail.model.event import TaskStarted
from dovetail.model.failure_cause import FailureCause

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("docker")]


@pytest.fixture
def server(docker_servers: Hosts) -> DockerServer:
    return docker_servers[0]


def test_a_container_that_takes_too_much_memory_is_killed_and_that_is_said(
    tmp_path: Path, server: DockerServer
) -> None:
    subject = docker_subject(tmp_path, {"name": "one", "url": server.url})
    greedy = shell("dd if=/dev/zero of=/dev/null bs=200M count=1", limits={"memory": "32MiB"})
    finished, _ = run_to_end(subject, greedy)
    assert finished.exit_code == 137
    assert finished.reason.startswith("out of memory (its limit is 32MiB)")
    assert finished.cause is FailureCause.WORKLOAD


def test_a_container_with_a_long_grace_period_can_be_killed(tmp_path: Path, server: DockerServer) -> None:
    subject = docker_subject(tmp_path, {"name": "one", "url": server.url})
    spec = shell("trap '' TERM; while :; do sleep 0.1; done", disruption={"grace": "365d"})

    async def scene() -> None:
        async with started(subject) as rig:
            work = rig.assignment(next(NUMBERS), spec)
            await rig.backend.bind(work)
            await rig.reports.until(TaskStarted, work.key)
            await rig.backend.stop(work.key, "please")
            assert isinstance(rig.backend, KillingBackend)
            await rig.backend.kill(work.key, "now")
            assert (await rig.finished(work.key)).reason == "please"

    run_async(scene)


def test_the_quota_and_the_shares_of_a_container_are_in_its_cgroup(tmp_path: Path, server: DockerServer) -> None:
    subject = docker_subject(tmp_path, {"name": "one", "url": server.url})
    spec = shell(
        f"sleep {LONG_S}",
        resources={"cpu": "250m", "memory": "16MiB"},
        limits={"cpu": "500m", "memory": "64MiB"},
    )

    async def scene() -> None:
        async with started(subject) as rig:
            work = rig.assignment(next(NUMBERS), spec)
            await rig.backend.bind(work)
            await rig.reports.until(TaskStarted, work.key)
            assert _cgroup_of(server, work.key) == {"cores": 0.5, "shares": 256, "memory": 64 * 2**20}
            await rig.backend.stop(work.key, "seen")
            await rig.finished(work.key)

    run_async(scene)


def test_more_cores_than_the_host_has_are_no_limit(tmp_path: Path, server: DockerServer) -> None:
    subject = docker_subject(tmp_path, {"name": "one", "url": server.url})
    finished, _ = run_to_end(subject, shell("true", limits={"cpu": "4000"}))
    assert finished.exit_code == 0


def test_what_runs_for_too_long_is_stopped_with_the_exit_code_of_timeout(tmp_path: Path, server: DockerServer) -> None:
    subject = docker_subject(tmp_path, {"name": "one", "url": server.url})
    finished, _ = run_to_end(subject, shell(f"sleep {LONG_S}", deadline={"run_for": "500ms"}))
    assert finished.exit_code == 124
    assert "time limit of 500ms" in finished.reason


def _cgroup_of(server: DockerServer, key: str) -> dict[str, float]:
    """As the kernel has it, in either version of cgroups."""
    with server.client() as client:
        found = client.get("/containers/json", params={"filters": f'{{"label": ["dovetail.key={key}"]}}'}).json()
        pid = client.get(f"/containers/{found[0]['Id']}/json").json()["State"]["Pid"]
    lines = [line.split(":", 2) for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines()]
    places = {controller: path for _, controllers, path in lines for controller in controllers.split(",")}
    root = Path("/sys/fs/cgroup")
    if "memory" in places:
        cpu, memory = (root / name / places[name].lstrip("/") for name in ("cpu", "memory"))
        quota, period = (int((cpu / f"cpu.cfs_{name}_us").read_text()) for name in ("quota", "period"))
        shares = int((cpu / "cpu.shares").read_text())
        limit = int((memory / "memory.limit_in_bytes").read_text())
    else:
        folder = root / places[""].lstrip("/")
        quota, period = map(int, (folder / "cpu.max").read_text().split())
        shares = round(2 + (int((folder / "cpu.weight").read_text()) - 1) * 262_142 / 9_999)
        limit = int((folder / "memory.max").read_text())
    return {"cores": quota / period, "shares": shares, "memory": limit}
