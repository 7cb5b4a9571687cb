"""Pods that claim devices (dynamic resource allocation): their claims get devices of the node that they go to."""

from collections import Counter

import pytest
from tests.contract.kubernetes.cards import CLAIMS, DRIVER, allocated, claim, claiming, given, stage, status
from tests.contract.kubernetes.cluster import PODS, Cluster, pod
from tests.contract.kubernetes.laid_out import say_devices
from tests.servers.kubernetes.server import KubeServer

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]


async def says(cluster: Cluster, name: str, words: str) -> None:
    async def said() -> bool:
        conditions = (await cluster.one(name))["status"].get("conditions") or []
        return any(words in one.get("message", "") for one in conditions)

    await cluster.until(said, f"{name} says: {words}")


def test_a_pod_goes_where_its_devices_are_and_its_claim_has_them_first(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.api.create(CLAIMS, claim("c", 1, f'device.attributes["{DRIVER}"].slot == 2'))
        await cluster.pods(claiming("a-1", "c"))
        async with cluster.scheduler() as found:
            await cluster.until_bound("a-1")
            assert not await found.auditor.look(), "marks of ours are no drift"
        bound, about = await cluster.one("a-1"), await cluster.api.get(f"{CLAIMS}/c")
        assert bound["spec"]["nodeName"] == "n2"
        assert given(about["status"]) == [("n2", "card-2")]
        user = {"resource": "pods", "name": "a-1", "uid": bound["metadata"]["uid"]}
        assert about["status"]["reservedFor"] == [user]
        assert about["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]

    stage(kube_server, play, n1=2, n2=4, n3=0)


def test_no_device_is_given_twice_and_who_gets_none_waits_until_one_is_free(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        names = [f"a-{number}" for number in range(12)]
        for name in names:
            await cluster.api.create(CLAIMS, claim(f"c-{name}"))
        await cluster.pods(*[claiming(name, f"c-{name}", cpu="100m") for name in names])
        async with cluster.scheduler():

            async def seven() -> bool:
                return sum(map(bool, (await cluster.where()).values())) == 7

            await cluster.until(seven, "seven pods have nodes")
            late = [name for name, at in (await cluster.where()).items() if not at]
            for name in late:
                await says(cluster, name, "not free here")
            held = {name: await status(cluster, f"c-{name}") for name in names if name not in late}
            for name, found in held.items():
                assert given(found)[0][0] == (await cluster.where())[name]
            assert max(Counter(given(found)[0] for found in held.values()).values()) == 1
            first = next(iter(held))
            await cluster.api.delete(f"{PODS}/{first}", {"gracePeriodSeconds": 0})
            await say_devices(cluster.api, claim(f"c-{first}"), {})  # a controller would

            async def another() -> bool:
                return any(at for name, at in (await cluster.where()).items() if name in late)

            await cluster.until(another, "one of the others has its place")

    stage(kube_server, play, n1=4, n2=3)


def test_pods_that_share_a_claim_go_to_the_same_node(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.api.create(CLAIMS, claim("c"))
        await cluster.pods(*[claiming(f"a-{number}", "c") for number in range(3)])
        async with cluster.scheduler():
            await cluster.until_bound("a-0", "a-1", "a-2")
        assert len(set((await cluster.where()).values())) == 1
        assert len((await status(cluster, "c"))["reservedFor"]) == 3

    stage(kube_server, play, n1=1, n2=1)


def test_a_scheduler_that_takes_over_binds_the_pod_to_where_its_devices_are(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.api.create(CLAIMS, claim("c"))
        await cluster.pods(claiming("a-1", "c"))
        user = {"resource": "pods", "name": "a-1", "uid": (await cluster.one("a-1"))["metadata"]["uid"]}
        before = {"allocation": allocated("n2"), "reservedFor": [user]}
        await say_devices(cluster.api, claim("c"), before)
        async with cluster.scheduler():
            await cluster.until_bound("a-1")
        assert (await cluster.where())["a-1"] == "n2"
        assert await status(cluster, "c") == before

    stage(kube_server, play, n1=1, n2=1)


def test_a_pod_that_finds_no_place_where_its_devices_are_gives_them_back(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.api.create(CLAIMS, claim("c"))
        await say_devices(cluster.api, claim("c"), {"allocation": allocated("n1")})
        await cluster.pods(pod("full-1", cpu="4", schedulerName="other", nodeName="n1"), claiming("a-1", "c"))
        async with cluster.scheduler():
            await cluster.until_bound("a-1")
        assert (await cluster.where())["a-1"] == "n2"
        assert given(await status(cluster, "c"))[0][0] == "n2"

    stage(kube_server, play, n1=1, n2=1)


def test_a_claim_that_is_to_be_made_from_a_template_is_waited_for(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        asked = pod("a-1", resourceClaims=[{"name": "mine", "resourceClaimTemplateName": "some"}])
        await cluster.pods(asked)
        async with cluster.scheduler():
            await says(cluster, "a-1", "has not been made from its template yet")
            owner = {"apiVersion": "v1", "kind": "Pod", "name": "a-1", "controller": True}
            owner["uid"] = (await cluster.one("a-1"))["metadata"]["uid"]
            made = claim("a-1-mine")
            made["metadata"]["ownerReferences"] = [owner]
            await cluster.api.create(CLAIMS, made)
            which = {"name": "mine", "resourceClaimName": "a-1-mine"}
            await cluster.api.patch(f"{PODS}/a-1/status", {"status": {"resourceClaimStatuses": [which]}})
            await cluster.until_bound("a-1")
        assert given(await status(cluster, "a-1-mine"))[0][0] == "n2"

    stage(kube_server, play, n1=0, n2=1)


def test_what_is_wrong_with_a_claim_is_said(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        unknown = claim("c1")
        unknown["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"] = "no-such-kind"
        await cluster.api.create(CLAIMS, unknown)
        await cluster.api.create(CLAIMS, claim("c2", 1, f'device.attributes["{DRIVER}"].colour == "red"'))
        await cluster.pods(claiming("a-1", "c1"), claiming("a-2", "c2"), claiming("a-3", "c3"))
        async with cluster.scheduler():
            await says(cluster, "a-1", "no-such-kind")
            await says(cluster, "a-2", "colour")
            await says(cluster, "a-3", "resource claim c3 does not exist")
            await cluster.api.create(CLAIMS, claim("c3"))
            await cluster.until_bound("a-3")

    stage(kube_server, play, n1=1)
