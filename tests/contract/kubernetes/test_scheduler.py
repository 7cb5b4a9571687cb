"""The scheduler on a real API server: what it binds, what it says, and that nothing is lost or given away twice."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from tests.contract.kubernetes.cluster import PODS, Cluster, node, pod, scene
from tests.servers.kubernetes.server import KubeServer

from dovetail.kubernetes.scheduler.cluster_informer import TERMINATING_S
from dovetail.kubernetes_client.errors import AlreadyExists, ObjectInvalid

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]


def test_it_binds_the_pods_that_name_it_and_no_others(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.nodes(node("n1"), node("n2"))
        await cluster.pods(pod("a-1"), pod("b-1", schedulerName="somebody-else"))
        async with cluster.scheduler():
            await cluster.pods(pod("a-2"))
            await cluster.until_bound("a-1", "a-2")
        assert (await cluster.where())["b-1"] == ""

    scene(kube_server, play)


def test_a_pod_that_fits_nowhere_says_why_and_is_bound_when_a_node_comes(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.nodes(node("n1", cpu="2"))
        await cluster.pods(pod("big-1", cpu="4"))
        async with cluster.scheduler():

            async def told() -> bool:
                conditions = (await cluster.one("big-1"))["status"].get("conditions") or []
                found = [one for one in conditions if one["type"] == "PodScheduled"]
                return bool(found) and "cpu short by 2" in found[0].get("message", "")

            await cluster.until(told, "its condition says what is short")

            async def recorded() -> bool:
                events = await cluster.api.items("/apis/events.k8s.io/v1/namespaces/default/events")
                mine = [one for one in events if one["regarding"]["name"] == "big-1"]
                return any(one["reason"] == "FailedScheduling" for one in mine)

            await cluster.until(recorded, "an event says so too")
            await cluster.nodes(node("n2", cpu="8"))
            await cluster.until_bound("big-1")
        assert (await cluster.where())["big-1"] == "n2"

    scene(kube_server, play)


def test_room_that_a_deleted_pod_held_is_given_to_one_that_waits(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.nodes(node("n1", cpu="2"))
        async with cluster.scheduler():
            await cluster.pods(pod("a-1", cpu="2"))
            await cluster.until_bound("a-1")
            await cluster.pods(pod("a-2", cpu="2"))
            await asyncio.sleep(0.3)
            assert (await cluster.where())["a-2"] == ""
            await cluster.api.delete(f"{PODS}/a-1", {"gracePeriodSeconds": 0})
            await cluster.until_bound("a-2")

    scene(kube_server, play)


def test_pods_that_others_bound_count(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.nodes(node("n1", cpu="2"), node("n2", cpu="2"))
        await cluster.pods(pod("other-1", cpu="2", schedulerName="other", nodeName="n1"))
        async with cluster.scheduler():
            await cluster.pods(pod("a-1", cpu="2"))
            await cluster.until_bound("a-1")
        assert (await cluster.where())["a-1"] == "n2"

    scene(kube_server, play)


def test_a_more_urgent_pod_displaces_one_that_is_less_so(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        for name, value in (("low", 10), ("high", 1000)):
            body = {"metadata": {"name": name}, "value": value, "globalDefault": False, "description": "for a test"}
            with suppress(AlreadyExists):
                await cluster.api.create("/apis/scheduling.k8s.io/v1/priorityclasses", body)
        await cluster.nodes(node("n1", cpu="2"), node("n2", cpu="4"))
        async with cluster.scheduler():
            await cluster.pods(pod("low-2", cpu="4", priorityClassName="low"))
            await cluster.until_bound("low-2")
            await cluster.pods(pod("low-1", cpu="2", priorityClassName="low"))
            await cluster.until_bound("low-1")
            await cluster.pods(pod("high-1", cpu="2", priorityClassName="high"))
            await cluster.until_bound("high-1")
            where = await cluster.where()
        assert len(where) == 2, f"one victim was deleted, nobody else: {where}"
        assert where["high-1"]

    scene(kube_server, play)


def test_a_victim_that_somebody_watches_over_says_why_it_went(kube_server: KubeServer) -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "sums", "uid": "1", "controller": True}

    async def play(cluster: Cluster) -> None:
        for name, value in (("low", 10), ("high", 1000)):
            with suppress(AlreadyExists):
                body = {"metadata": {"name": name}, "value": value}
                await cluster.api.create("/apis/scheduling.k8s.io/v1/priorityclasses", body)
        await cluster.nodes(node("n1", cpu="2"))
        victims = [pod(name, nodeName="n1", priorityClassName="low") for name in ("owned-1", "bare-1")]
        victims[0]["metadata"]["ownerReferences"] = [owner]
        for victim in victims:  # so that they are there to be read when they go
            victim["metadata"]["finalizers"] = ["example.com/look"]
        await cluster.pods(*victims)
        async with cluster.scheduler():
            await cluster.pods(pod("high-1", cpu="2", priorityClassName="high"))

            async def both() -> list[dict[str, Any]]:
                return [await cluster.one(name) for name in ("owned-1", "bare-1")]

            async def going() -> bool:
                return all("deletionTimestamp" in one["metadata"] for one in await both())

            await cluster.until(going, "both victims were told to go")
            said = {one["metadata"]["name"]: one["status"].get("conditions", ()) for one in await both()}
            await cluster.api.patch(f"{PODS}/bare-1/status", {"status": {"phase": "Failed"}})
            await asyncio.sleep(1.5 * TERMINATING_S)
            await cluster.api.patch(f"{PODS}/owned-1", {"metadata": {"finalizers": None}})
            await cluster.until_bound("high-1")  # one victim is gone, the other has ended and holds nothing
            await cluster.api.patch(f"{PODS}/bare-1", {"metadata": {"finalizers": None}})
        (condition,) = [one for one in said["owned-1"] if one["type"] == "DisruptionTarget"]
        assert condition["reason"] == "PreemptionByScheduler"
        assert "high-1" in condition["message"]
        assert "DisruptionTarget" not in [one["type"] for one in said["bare-1"]]

    scene(kube_server, play)


def test_it_goes_on_after_the_api_server_was_killed(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.nodes(node("n1", cpu="100"))
        async with cluster.scheduler():
            await cluster.pods(pod("a-1"))
            await cluster.until_bound("a-1")
            await asyncio.to_thread(kube_server.restart)
            await cluster.pods(pod("a-2"))
            await cluster.until_bound("a-2")

    scene(kube_server, play)


def test_two_at_once_bind_no_pod_twice(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.nodes(*[node(f"n{i}", cpu="4") for i in range(10)])
        async with cluster.scheduler(), cluster.scheduler():
            await cluster.pods(*[pod(f"d-{i}", cpu="250m") for i in range(100)])
            await cluster.until_bound(*[f"d-{i}" for i in range(100)])

    scene(kube_server, play)


POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
POLICY_BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
KEPT = {
    "metadata": {"name": "keep"},
    "spec": {
        "matchConstraints": {
            "resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["pods"]}
            ]
        },
        "validations": [{"expression": "oldObject.metadata.labels['app'] != 'kept'", "message": "it is kept"}],
    },
}


def test_room_is_made_elsewhere_when_the_first_choice_may_not_be_deleted(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.nodes(node("n1", cpu="1"), node("n2", cpu="1"))
        classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
        for name, value in (("low", 1), ("middle", 2), ("high", 10)):
            with suppress(AlreadyExists):
                await cluster.api.create(classes, {"metadata": {"name": name}, "value": value})
        await cluster.pods(
            pod("kept-1", nodeName="n1", priorityClassName="low"),
            pod("other-1", nodeName="n2", priorityClassName="middle"),
        )
        await cluster.api.create(POLICIES, KEPT)
        binding = {"metadata": {"name": "keep"}, "spec": {"policyName": "keep", "validationActions": ["Deny"]}}
        await cluster.api.create(POLICY_BINDINGS, binding)
        try:

            async def in_force() -> bool:
                try:
                    await cluster.api.delete(f"{PODS}/kept-1", params={"dryRun": "All"})
                except ObjectInvalid:
                    return True
                return False

            await cluster.until(in_force, "the policy is in force")
            async with cluster.scheduler():
                await cluster.pods(pod("urgent-1", priorityClassName="high"))
                await cluster.until_bound("urgent-1")
            where = await cluster.where()
            assert (where["urgent-1"], where["kept-1"]) == ("n2", "n1")
            assert "other-1" not in where
        finally:
            await cluster.api.delete(f"{POLICIES}/keep")
            await cluster.api.delete(f"{POLICY_BINDINGS}/keep")

            async def out_of_force() -> bool:
                try:
                    await cluster.api.delete(f"{PODS}/kept-1", params={"dryRun": "All"})
                except ObjectInvalid:
                    return False
                return True

            await cluster.until(out_of_force, "the policy is out of force")

    scene(kube_server, play)
