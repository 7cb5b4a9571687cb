"""Claims that wait for their pod's node: they get their volumes there first, and then the pod is bound."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
from tests.contract.kubernetes.cluster import Cluster, node, pod, scene
from tests.contract.kubernetes.volume_controller import (
    CLAIMS,
    CLASSES,
    HOST,
    SELECTED,
    VOLUMES,
    claim,
    controlled,
    free_volumes,
    volume,
)
from tests.servers.kubernetes.server import KubeServer

from dovetail.kubernetes_client.errors import AlreadyExists

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]

STATIC, MADE, ROOMY = "static-later", "made-later", "made-where-there-is-room"
PROVISIONERS = {STATIC: "kubernetes.io/no-provisioner", MADE: "disk.example.com", ROOMY: "roomy.example.com"}
STORAGE = "/apis/storage.k8s.io/v1"


def using(*claims: str) -> dict[str, Any]:
    return {"volumes": [{"name": one, "persistentVolumeClaim": {"claimName": one}} for one in claims]}


def stage(server: KubeServer, play: Callable[[Cluster], Awaitable[None]]) -> None:
    """Two nodes, classes of both kinds; no volume is left over."""

    async def whole(cluster: Cluster) -> None:
        for name, provisioner in PROVISIONERS.items():
            body = {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"}
            with suppress(AlreadyExists):
                await cluster.api.create(CLASSES, body)
        await free_volumes(cluster.api)
        await cluster.nodes(node("n1"), node("n2"))
        try:
            await play(cluster)
        finally:
            await free_volumes(cluster.api)

    scene(server, whole)


def test_a_volume_that_is_there_is_kept_for_the_claim_before_the_pod_is_bound(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.api.create(VOLUMES, volume("v", "n2", STATIC))
        await cluster.api.patch(f"{VOLUMES}/v/status", {"status": {"phase": "Available"}})
        await cluster.api.create(CLAIMS, claim("c", STATIC))
        await cluster.pods(pod("a-1", **using("c")))
        async with cluster.scheduler():

            async def given() -> bool:
                kept = (await cluster.api.get(f"{VOLUMES}/v"))["spec"].get("claimRef") or {}
                return bool(kept.get("uid")) and kept["name"] == "c"

            await cluster.until(given, "the volume is given to the claim")
            assert (await cluster.where())["a-1"] == "", "its claim is not bound yet"
            async with controlled(cluster.api):
                await cluster.until_bound("a-1")
        assert (await cluster.where())["a-1"] == "n2"

    stage(kube_server, play)


def test_a_volume_is_made_where_the_pod_goes(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.api.create(CLAIMS, claim("c", MADE))
        await cluster.pods(pod("a-1", **using("c")))
        async with cluster.scheduler(), controlled(cluster.api) as controller:
            await cluster.until_bound("a-1")
        where, bound = (await cluster.where())["a-1"], await cluster.api.get(f"{CLAIMS}/c")
        assert bound["metadata"]["annotations"][SELECTED] == where
        assert bound["spec"]["volumeName"] == "made-for-c"
        assert controller.made == 1

    stage(kube_server, play)


def test_a_pod_waits_until_its_driver_has_room_for_a_volume_and_goes_there(kube_server: KubeServer) -> None:
    rooms = f"{STORAGE}/namespaces/default/csistoragecapacities"
    room = {"metadata": {"name": "n2"}, "storageClassName": ROOMY, "capacity": "1Gi"}
    room |= {"nodeTopology": {"matchLabels": {HOST: "n2"}}}

    async def play(cluster: Cluster) -> None:
        driver = {"metadata": {"name": PROVISIONERS[ROOMY]}, "spec": {"storageCapacity": True}}
        with suppress(AlreadyExists):
            await cluster.api.create(f"{STORAGE}/csidrivers", driver)
        await cluster.api.create(rooms, room)
        await cluster.api.create(CLAIMS, claim("c", ROOMY))
        await cluster.pods(pod("a-1", **using("c")))
        try:
            async with cluster.scheduler(), controlled(cluster.api):

                async def says_why() -> bool:
                    conditions = (await cluster.one("a-1"))["status"].get("conditions") or []
                    return any("has no space here" in one.get("message", "") for one in conditions)

                await cluster.until(says_why, "it is told why it waits")
                await cluster.api.patch(f"{rooms}/n2", {"capacity": "3Gi"})
                await cluster.until_bound("a-1")
        finally:
            await cluster.api.delete(f"{rooms}/n2")
        assert (await cluster.where())["a-1"] == "n2"

    stage(kube_server, play)


def test_when_a_provisioner_gives_up_the_pod_is_tried_again(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.api.create(CLAIMS, claim("c", MADE))
        await cluster.pods(pod("a-1", **using("c")))
        async with cluster.scheduler(), controlled(cluster.api, refusals=2) as controller:
            await cluster.until_bound("a-1")
        assert (controller.refusals, controller.made) == (0, 1)

    stage(kube_server, play)


def test_a_scheduler_that_takes_over_goes_on_where_the_last_one_was(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.api.create(CLAIMS, claim("c", MADE))
        await cluster.pods(pod("a-1", **using("c")))

        async def chosen() -> bool:
            about = (await cluster.api.get(f"{CLAIMS}/c"))["metadata"]
            return SELECTED in (about.get("annotations") or {})

        async with cluster.scheduler():
            await cluster.until(chosen, "the claim names a node")
        said = (await cluster.api.get(f"{CLAIMS}/c"))["metadata"]["annotations"][SELECTED]
        async with cluster.scheduler(), controlled(cluster.api):
            await cluster.until_bound("a-1")
        assert (await cluster.where())["a-1"] == said

    stage(kube_server, play)


def test_of_two_pods_and_one_volume_one_gets_it_and_the_other_waits(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.api.create(VOLUMES, volume("v", "n1", STATIC))
        await cluster.api.patch(f"{VOLUMES}/v/status", {"status": {"phase": "Available"}})
        for name in ("c1", "c2"):
            await cluster.api.create(CLAIMS, claim(name, STATIC))
        await cluster.pods(pod("a-1", **using("c1")), pod("a-2", **using("c2")))
        async with cluster.scheduler(), controlled(cluster.api):

            async def one_is_bound() -> bool:
                return any((await cluster.where()).values())

            await cluster.until(one_is_bound, "one of them has a node")

            async def the_other_says_why() -> bool:
                waits = [name for name, at in (await cluster.where()).items() if not at]
                conditions = (await cluster.one(waits[0]))["status"].get("conditions") or []
                return any(one["status"] == "False" for one in conditions)

            await cluster.until(the_other_says_why, "the other is told why it waits")
        where = await cluster.where()
        assert sorted(where.values()) == ["", "n1"]
        kept = (await cluster.api.get(f"{VOLUMES}/v"))["spec"]["claimRef"]["name"]
        assert where["a-1" if kept == "c1" else "a-2"] == "n1"

    stage(kube_server, play)


def test_a_pod_that_is_deleted_while_its_volume_is_made_is_forgotten(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.api.create(CLAIMS, claim("c", MADE))
        await cluster.pods(pod("a-1", cpu="4", **using("c")))
        async with cluster.scheduler() as found:

            async def under_way() -> bool:
                return any(known.chosen for known in found.tracker.by_id.values())

            await cluster.until(under_way, "a node is chosen")
            assert not await found.auditor.look(), "that a volume is being made is no drift"
            await cluster.api.delete("/api/v1/namespaces/default/pods/a-1", {"gracePeriodSeconds": 0})
            await cluster.pods(pod("a-2", cpu="4"), pod("a-3", cpu="4"))
            await cluster.until_bound("a-2", "a-3")
            await asyncio.sleep(0)
            assert not await found.auditor.look()

    stage(kube_server, play)
