"""Gangs and preemption on a real API server: an urgent gang takes what it needs, and no gang is cut."""

import re
from typing import Any

import pytest
from tests.contract.kubernetes.cluster import Cluster, node, pod, scene
from tests.contract.kubernetes.test_extender import classes
from tests.contract.kubernetes.test_gangs import ZONE, gang
from tests.servers.kubernetes.server import KubeServer

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]


def of_class(name: str, *pods: dict[str, Any]) -> list[dict[str, Any]]:
    for one in pods:
        one["spec"]["priorityClassName"] = name
    return list(pods)


async def told(cluster: Cluster) -> list[str]:
    """What Events say; the last ones are written when the scheduler ends."""
    return [one["note"] for one in await cluster.api.items("/apis/events.k8s.io/v1/namespaces/default/events")]


async def names(cluster: Cluster) -> set[str]:
    return {name.rsplit("-", 1)[0] for name in await cluster.where()}


def test_an_urgent_gang_preempts_what_it_needs_and_no_more(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await classes(cluster)
        await cluster.nodes(node("n1", "2"), node("n2", "2"))
        async with cluster.scheduler():
            await cluster.pods(*of_class("low", *[pod(f"low-{i}") for i in range(4)]))
            await cluster.until_bound(*[f"low-{i}" for i in range(4)])
            await cluster.pods(*of_class("high", *gang("high", 3, 3)))
            await cluster.until_bound("high-0", "high-1", "high-2")
            where = await cluster.where()
        words = await told(cluster)
        assert sum(name.startswith("low") for name in where) == 1, where
        assert any("preempted by pod default/high-" in one for one in words)
        assert any("waits for 3 tasks: pod default/low-" in one for one in words)
        assert not [one for one in words if re.search(r"-\d/\d|workload \d", one)], (
            "numbers of our own are nobody's business"
        )

    scene(kube_server, play)


def test_nobody_is_preempted_for_a_gang_that_would_not_fit_even_then(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await classes(cluster)
        await cluster.nodes(node("n1", "2", **{ZONE: "a"}), node("n2", "2", **{ZONE: "b"}))
        async with cluster.scheduler() as scheduler:
            await cluster.pods(*of_class("low", *[pod(f"low-{i}") for i in range(4)]))
            await cluster.until_bound(*[f"low-{i}" for i in range(4)])
            await cluster.pods(*of_class("high", *gang("vast", 5, 5)))
            await cluster.pods(*of_class("high", *gang("apart", 3, 3, topology=f"{{required: {ZONE}}}")))
            await cluster.pods(*of_class("high", *gang("near", 2, 2, topology=f"{{required: {ZONE}}}")))
            await cluster.until_bound("near-0", "near-1")
            where = await cluster.where()
            assert scheduler.evicted == 2
        assert where["near-0"] == where["near-1"]
        assert sum(name.startswith("low") for name in where) == 2, where

    scene(kube_server, play)


def test_a_gang_that_would_fall_below_its_minimum_is_preempted_whole(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await classes(cluster)
        await cluster.nodes(node("n1", "1"), node("n2", "1"), node("n3", "1"))
        await cluster.pods(*of_class("low", *gang("low", 3, 3)))
        async with cluster.scheduler():
            await cluster.until_bound("low-0", "low-1", "low-2")
            await cluster.pods(*of_class("high", pod("high-0")))
            await cluster.until_bound("high-0")

            async def alone() -> bool:
                return await names(cluster) == {"high"}

            await cluster.until(alone, "all of the gang has left its nodes")

    scene(kube_server, play)


def test_a_scheduler_that_starts_later_cuts_no_gang_either(kube_server: KubeServer) -> None:
    """Of three pods two have to run: one may go, and then no other."""

    async def play(cluster: Cluster) -> None:
        await classes(cluster)
        await cluster.nodes(node("n1", "1"), node("n2", "1"), node("n3", "1"))
        await cluster.pods(*of_class("low", *gang("low", 3, 2)))
        async with cluster.scheduler():
            await cluster.until_bound("low-0", "low-1", "low-2")
        async with cluster.scheduler():
            await cluster.pods(*of_class("high", pod("high-0")))
            await cluster.until_bound("high-0")
            assert len(await cluster.where()) == 3, "the gang can lose one"
            await cluster.pods(*of_class("high", pod("other-0")))
            await cluster.until_bound("other-0")

            async def alone() -> bool:
                return await names(cluster) == {"high", "other"}

            await cluster.until(alone, "the rest of the gang has left its nodes")

    scene(kube_server, play)
