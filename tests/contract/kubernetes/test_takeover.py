"""Two schedulers with one lease: when the leader is killed the other goes on, and nothing is bound twice."""

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from tests.contract.kubernetes.cluster import PODS, Cluster, node, pod, scene
from tests.contract.kubernetes.gate import straight
from tests.contract.kubernetes.test_kill_storm import History
from tests.patience import until
from tests.servers.kubernetes.server import KubeServer

from dovetail.asyncio_tasks import cancel
from dovetail.cli.main import app
from dovetail.kubernetes.scheduler.scheduler import PodScheduler
from dovetail.kubernetes_client.election import Pace
from dovetail.kubernetes_client.reflector import Reflector

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]


@asynccontextmanager
async def candidate(server: KubeServer) -> AsyncIterator[Process]:
    """A scheduler as a user would start it, which says on stderr when it leads."""
    command = [sys.executable, "-m", "dovetail", "kubernetes", "scheduler", "--lease", "default/takeover"]
    found = await asyncio.create_subprocess_exec(
        *command, "--kubeconfig", str(server.kubeconfig), stdout=DEVNULL, stderr=PIPE
    )
    try:
        yield found
    finally:
        with suppress(ProcessLookupError):
            found.kill()
        await found.wait()


async def says(process: Process, words: str) -> None:
    assert process.stderr is not None
    while words not in (line := (await process.stderr.readline()).decode()):
        assert line, f"it ended without a word of {words!r}"


def test_after_kill_nine_of_the_leader_the_other_binds_the_rest_once(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        history = History()
        reflector = Reflector(cluster.api, PODS, history.hear)
        following = asyncio.create_task(reflector.run())
        await cluster.nodes(node("n1", "40"), node("n2", "40"))
        async with candidate(kube_server) as first:
            await says(first, "decides for")
            async with candidate(kube_server) as second:
                await says(second, "waits for the lease")
                await cluster.pods(*[pod(f"early-{i}") for i in range(10)])
                await until(history.reaches(3), "the leader to bind some pods")
                first.kill()
                await cluster.pods(*[pod(f"late-{i}") for i in range(10)])
                await says(second, "decides for")
                await until(lambda: sum(map(bool, history.where.values())) == 20, "every pod to be bound")
        assert history.wrong == []
        await cancel(following)

    scene(kube_server, play)


def test_one_that_stands_by_knows_the_cluster_and_lists_it_again_before_it_decides(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.nodes(node("n1", "1"))
        await cluster.pods(pod("first-0"))
        async with straight(kube_server) as api:
            scheduler = PodScheduler(api, stands_by=True)
            running = asyncio.create_task(scheduler.run())
            try:
                await until(lambda: bool(scheduler.tracker.pods), "it to know the pod")
                assert scheduler.ready is False
                assert (await cluster.where())["first-0"] == ""
                scheduler.lead()
                await cluster.until_bound("first-0")
                assert {one.lists for one in scheduler.informer.reflectors if one.lists} == {2}
            finally:
                await cancel(running)

    scene(kube_server, play)


def test_a_leader_whose_lease_may_have_expired_binds_nothing(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.nodes(node("n1", "4"))
        async with straight(kube_server) as api:
            leads = False
            scheduler = PodScheduler(api, leads=lambda: leads)
            running = asyncio.create_task(scheduler.run())
            try:
                await cluster.pods(pod("first-0"))
                await until(lambda: scheduler.binder.under_way == 1, "it to decide")
                assert (await cluster.where())["first-0"] == ""
                leads = True
                await cluster.until_bound("first-0")
            finally:
                await cancel(running)

    scene(kube_server, play)


def test_by_default_a_killed_leader_is_replaced_within_nine_seconds_and_a_second_to_spare() -> None:
    pace = Pace()
    assert pace.lease_s + pace.retry_s <= 9


def test_credentials_that_are_not_accepted_end_it_with_the_reason(kube_server: KubeServer, tmp_path: Path) -> None:
    config = yaml.safe_load(kube_server.kubeconfig.read_text())
    for user in config["users"]:
        user["user"] = {"token": "revoked"}
    (tmp_path / "revoked.yaml").write_text(yaml.safe_dump(config))
    for command in (["scheduler"], ["extender", "--insecure-http", "--port", "0"]):
        options = ["--kubeconfig", str(tmp_path / "revoked.yaml")]
        ended = CliRunner().invoke(app, ["kubernetes", *command, *options])
        assert ended.exit_code != 0
        assert "does not accept our credentials (401)" in ended.stderr
