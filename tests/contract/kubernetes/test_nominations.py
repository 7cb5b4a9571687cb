"""Room that is being made for a pod when the scheduler is replaced, and nodes that others say a pod should go to."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from tests.contract.kubernetes.cluster import PODS, Cluster, node, pod, scene
from tests.contract.kubernetes.test_gangs import gang
from tests.servers.kubernetes.server import KubeServer

from dovetail.kubernetes_client.errors import AlreadyExists
from dovetail.kubernetes_client.pods import nominate

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]
SLOWLY = 600  # no kubelet is there: who is told to go stays until the test has it gone


async def priorities(cluster: Cluster) -> None:
    for name, value, policy in (("low", 10, None), ("patient", 20, "Never"), ("high", 1000, None)):
        with suppress(AlreadyExists):
            body = {"metadata": {"name": name}, "value": value, "preemptionPolicy": policy}
            await cluster.api.create("/apis/scheduling.k8s.io/v1/priorityclasses", body)


async def going(cluster: Cluster) -> set[str]:
    found = await cluster.api.items(PODS)
    return {one["metadata"]["name"] for one in found if "deletionTimestamp" in one["metadata"]}


async def nominated(cluster: Cluster, name: str) -> str:
    return str((await cluster.one(name))["status"].get("nominatedNodeName", ""))


def test_nobody_else_has_to_go_when_the_scheduler_is_replaced_while_victims_end(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await priorities(cluster)
        await cluster.nodes(*[node(f"n{i}", cpu="2") for i in range(4)])
        for i in range(4):
            for k in range(2):
                low: dict[str, Any] = {"priorityClassName": "low", "terminationGracePeriodSeconds": SLOWLY}
                await cluster.pods(pod(f"low-{i}{k}", nodeName=f"n{i}", **low))
        async with cluster.scheduler():
            await cluster.pods(pod("high-1", cpu="2", priorityClassName="high"))

            async def told() -> bool:
                return bool(await nominated(cluster, "high-1")) and len(await going(cluster)) == 2

            await cluster.until(told, "room is being made")
        where, victims = await nominated(cluster, "high-1"), await going(cluster)
        async with cluster.scheduler() as successor:

            async def ready() -> bool:
                return successor.ready

            await cluster.until(ready, "another one decides")
            await asyncio.sleep(1)
            assert await going(cluster) == victims
            assert await nominated(cluster, "high-1") == where
            # A less urgent one does not take the room.
            await cluster.pods(pod("patient-1", cpu="2", priorityClassName="patient"))
            for name in victims:
                await cluster.api.delete(f"{PODS}/{name}", {"gracePeriodSeconds": 0})
            await cluster.until_bound("high-1")
            assert (await cluster.where())["high-1"] == where
            assert await going(cluster) == set()

    scene(kube_server, play)


def test_every_pod_of_an_urgent_gang_is_nominated_while_its_victims_end(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await priorities(cluster)
        await cluster.nodes(*[node(f"n{i}", cpu="2") for i in range(3)])
        for i in range(3):
            low: dict[str, Any] = {"priorityClassName": "low", "terminationGracePeriodSeconds": SLOWLY}
            await cluster.pods(pod(f"low-{i}", cpu="2", nodeName=f"n{i}", **low))
        ranks = [f"rank-{i}" for i in range(3)]
        async with cluster.scheduler():
            for one in gang("rank", 3, 3, cpu="2"):
                one["spec"]["priorityClassName"] = "high"
                await cluster.pods(one)

            async def told() -> bool:
                return {await nominated(cluster, name) for name in ranks} == {"n0", "n1", "n2"}

            await cluster.until(told, "each has a node of its own")
            for name in await going(cluster):
                await cluster.api.delete(f"{PODS}/{name}", {"gracePeriodSeconds": 0})
            await cluster.until_bound(*ranks)

    scene(kube_server, play)


def test_a_pod_goes_first_where_it_was_nominated_to(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.nodes(*[node(f"n{i}", cpu="2") for i in range(6)])
        await cluster.pods(*[pod(f"a-{i}", schedulingGates=[{"name": "example.com/wait"}]) for i in range(6)])
        for i in range(6):
            await nominate(cluster.api, "default", f"a-{i}", "n4" if i < 2 else "n3" if i < 4 else "nowhere")
        async with cluster.scheduler():
            for i in range(6):
                await cluster.api.patch(f"{PODS}/a-{i}", {"spec": {"schedulingGates": None}})
            await cluster.until_bound(*[f"a-{i}" for i in range(6)])
            where = await cluster.where()
        assert [where[f"a-{i}"] for i in range(4)] == ["n4", "n4", "n3", "n3"]

    scene(kube_server, play)
