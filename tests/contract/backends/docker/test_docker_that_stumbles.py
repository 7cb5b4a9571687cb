"""An engine that does not answer about one task runs all the others; one that cannot be reached is found out."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.contract.backends.docker.rig import Hosts
from tests.patience import until
from tests.servers.docker import IMAGE

from dovetail.control.backends.breaker import FAILURES_UNTIL_OPEN
from dovetail.control.backends.member import Member
from dovetail.control.plane import ControlPlane
from dovetail.control.settings import Settings
from dovetail.model.workloads.workload import Workload
from dovetail.testing.lossy_proxy import LossyProxy

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("docker")]

CALL_TIMEOUT_S = 4.0
"""More than five containers take to start beside a busy machine's other work."""


def work(name: str) -> Workload:
    run = {"image": IMAGE, "command": ["sleep", "3600"]}
    return Workload.model_validate({"name": name, "resources": {"cpu": "10m"}, "run": run})


@asynccontextmanager
async def planned(folder: Path, proxy: LossyProxy, cluster: str) -> AsyncIterator[ControlPlane]:
    engine: dict[str, Any] = {
        "kind": "docker",
        "hosts": [{"name": "one", "url": f"unix://{proxy.address}"}],
        "cluster": cluster,
        "network": "none",
        "grace_s": "100ms",
        "pull": "never",
    }
    fields = {"data": str(folder), "backends": {"docker": engine}, "loop": {"call_timeout": CALL_TIMEOUT_S}}
    plane = ControlPlane(Settings.model_validate(fields))
    await plane.start()
    try:
        yield plane
        live = list(plane.engine._state.work)
        await plane.workloads.cancel(live, "the test is over")
        await until(lambda: not plane.engine._state.work, "all is stopped")
    finally:
        await plane.stop()


def docker(plane: ControlPlane) -> Member:
    return plane.backends.get("docker").member


def errors(plane: ControlPlane) -> int:
    executor = docker(plane).executor
    assert executor is not None
    return executor.health.errors


def test_what_the_engine_does_not_answer_about_delays_nothing_else(tmp_path: Path, docker_servers: Hosts) -> None:
    async def scene(proxy: LossyProxy) -> None:
        async with planned(tmp_path, proxy, "stumbles") as plane:
            async with proxy.hold_reply("1.0.1"):
                await plane.submit([work("held")])
                await until(lambda: errors(plane) > FAILURES_UNTIL_OPEN, "it is asked for again and again")
                assert docker(plane).state == "closed"
                await plane.submit([work(f"good-{number}") for number in range(5)])
                await until(lambda: plane.store.counts()["running"] == 5, "the others run")
                await until(lambda: docker(plane).state == "closed", "their answers show that the engine is well")
            await until(lambda: plane.store.counts()["running"] == 6, "so does that, when there is an answer")

    with LossyProxy(str(docker_servers[0].socket)) as proxy:
        asyncio.run(scene(proxy))


def test_an_engine_that_cannot_be_reached_gets_nothing_until_it_can(tmp_path: Path, docker_servers: Hosts) -> None:
    async def scene(proxy: LossyProxy) -> None:
        async with planned(tmp_path, proxy, "away") as plane:
            async with proxy.break_calls():
                cluster = plane.engine._state.cluster
                await plane.submit([work("only")])
                await until(lambda: not cluster.status.ready[cluster.rows["one"]], "nothing is placed there")
            await until(lambda: plane.store.counts()["running"] == 1, "it runs")
            await until(lambda: docker(plane).state == "closed", "it is used again")

    with LossyProxy(str(docker_servers[0].socket)) as proxy:
        asyncio.run(scene(proxy))
