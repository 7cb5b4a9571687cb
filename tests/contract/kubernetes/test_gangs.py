"""Gangs, and what pods ask of us in annotations, on a real API server."""

from typing import Any

import pytest
from tests.contract.kubernetes.cluster import PODS, Cluster, node, pod, scene
from tests.servers.kubernetes.server import KubeServer

from dovetail.kubernetes.objects.annotations import PREFIX
from dovetail.kubernetes_client.errors import ObjectNotFound

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]

ZONE = "topology.kubernetes.io/zone"
GROUP = "scheduling.x-k8s.io/pod-group"
GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "podgroups.scheduling.x-k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, a test"},
    },
    "spec": {
        "group": "scheduling.x-k8s.io",
        "scope": "Namespaced",
        "names": {"kind": "PodGroup", "listKind": "PodGroupList", "plural": "podgroups", "singular": "podgroup"},
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "minMember": {"type": "integer"},
                                    "scheduleTimeoutSeconds": {"type": "integer"},
                                },
                            },
                            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        },
                    }
                },
                "subresources": {"status": {}},
            }
        ],
    },
}


def asking(body: dict[str, Any], **annotations: str) -> dict[str, Any]:
    body["metadata"]["annotations"] = {PREFIX + name.replace("_", "-"): text for name, text in annotations.items()}
    return body


def labelled(body: dict[str, Any], **labels: str) -> dict[str, Any]:
    body["metadata"]["labels"] |= {GROUP: labels.pop("group"), **labels} if "group" in labels else labels
    return body


def gang(name: str, size: int, least: int, cpu: str = "1", **more: str) -> list[dict[str, Any]]:
    return [asking(pod(f"{name}-{i}", cpu), gang=name, gang_min=str(least), **more) for i in range(size)]


async def says(cluster: Cluster, name: str, words: str) -> None:
    async def told() -> bool:
        conditions = (await cluster.one(name))["status"].get("conditions") or []
        return any(words in one.get("message", "") for one in conditions if one["type"] == "PodScheduled")

    await cluster.until(told, f"{name} says {words!r}")


def group(name: str, **spec: Any) -> dict[str, Any]:
    about = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": name}}
    return {**about, "spec": spec}


async def is_said_of(cluster: Cluster, name: str, **wanted: Any) -> dict[str, Any]:
    """The group's status as soon as it has all this."""
    found: dict[str, Any] = {}

    async def told() -> bool:
        found.update((await cluster.api.get(f"{GROUPS}/{name}")).get("status") or {})
        return all(found.get(field) == value for field, value in wanted.items())

    try:
        await cluster.until(told, f"the status of {name} has {wanted}")
    except AssertionError as error:
        raise AssertionError(f"{error}; it has {found}") from None
    return found


async def set_phase(cluster: Cluster, phase: str, *names: str) -> None:
    for name in names:
        await cluster.api.patch(f"{PODS}/{name}/status", {"status": {"phase": phase}})


def test_the_status_of_a_group_tells_how_far_it_is(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await define_groups(cluster)
        await cluster.nodes(node("n1"))
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "sums", "uid": "1"}
        pods = [labelled(pod(f"w-{i}"), group="team") for i in range(2)]
        for one in pods:
            one["metadata"]["ownerReferences"] = [owner]
        await cluster.api.create(GROUPS, group("team", minMember=2))
        try:
            async with cluster.scheduler():
                found = await is_said_of(cluster, "team", phase="Pending", running=0)
                assert found["conditions"][0]["reason"] == "PodsMissing"
                await cluster.pods(*pods)
                found = await is_said_of(cluster, "team", phase="Scheduling", occupiedBy="default/sums")
                assert found["scheduleStartTime"]
                await cluster.until_bound("w-0", "w-1")
                await set_phase(cluster, "Running", "w-0", "w-1")
                found = await is_said_of(cluster, "team", phase="Running", running=2)
                assert (found["conditions"][0]["type"], found["conditions"][0]["status"]) == ("Scheduled", "True")
                await set_phase(cluster, "Succeeded", "w-0", "w-1")
                await is_said_of(cluster, "team", phase="Finished", running=0, succeeded=2, failed=0)
        finally:
            await undefine_groups(cluster)

    scene(kube_server, play)


def test_a_group_that_is_not_scheduled_in_time_says_so_and_is_tried_again(
    kube_server: KubeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dovetail.kubernetes.scheduler.pod_groups.PAUSE_S", 2.0)

    async def play(cluster: Cluster) -> None:
        await define_groups(cluster)
        await cluster.nodes(node("n1", "1"))
        await cluster.api.create(GROUPS, group("team", minMember=2, scheduleTimeoutSeconds=1))
        await cluster.pods(*[labelled(pod(f"w-{i}"), group="team") for i in range(2)])
        try:
            async with cluster.scheduler():
                await says(cluster, "w-0", "its group team was not scheduled within 1 s")

                async def told() -> bool:
                    status = (await cluster.api.get(f"{GROUPS}/team"))["status"]
                    return bool(status["conditions"][0]["reason"] == "ScheduleTimeout")

                await cluster.until(told, "the group says so too")
                await cluster.nodes(node("n2", "1"))
                await cluster.until_bound("w-0", "w-1")
            events = await cluster.api.items("/apis/events.k8s.io/v1/namespaces/default/events")
            assert "Timeout" in {one["reason"] for one in events if one["regarding"]["kind"] == "PodGroup"}
        finally:
            await undefine_groups(cluster)

    scene(kube_server, play)


async def define_groups(cluster: Cluster) -> None:
    await cluster.api.create(DEFINITIONS, DEFINITION)

    async def served() -> bool:
        try:
            await cluster.api.get(GROUPS)
        except ObjectNotFound:
            return False
        return True

    await cluster.until(served, "pod groups are served")


async def undefine_groups(cluster: Cluster) -> None:
    await cluster.api.delete(f"{DEFINITIONS}/{DEFINITION['metadata']['name']}")  # type: ignore[index]

    async def gone() -> bool:
        try:
            await cluster.api.get(GROUPS)
        except ObjectNotFound:
            return True
        return False

    await cluster.until(gone, "pod groups are served no longer")


def test_a_gang_starts_when_all_of_it_are_there_and_fit_and_not_before(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.nodes(node("n1", "2"))
        some = gang("train", 4, 4)
        await cluster.pods(*some[:3])
        async with cluster.scheduler():
            await says(cluster, "train-0", "3 of the 4 pods that have to start together")
            await cluster.pods(some[3])
            await says(cluster, "train-0", "4 tasks must start together")
            assert set((await cluster.where()).values()) == {""}
            await cluster.nodes(node("n2", "2"))
            await cluster.until_bound(*[f"train-{i}" for i in range(4)])

    scene(kube_server, play)


def test_two_gangs_that_fit_only_one_at_a_time_do_not_halve_each_other(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.nodes(node("n1", "3"), node("n2", "3"))
        await cluster.pods(*[one for pair in zip(gang("a", 4, 4), gang("b", 4, 4), strict=True) for one in pair])
        async with cluster.scheduler():

            async def one_started() -> bool:
                return sum(1 for found in (await cluster.where()).values() if found) >= 4

            await cluster.until(one_started, "one gang has started")
            where = await cluster.where()
            started = {name[0] for name, found in where.items() if found}
            assert len(started) == 1
            for i in range(4):
                body = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
                await cluster.api.delete(f"{PODS}/{next(iter(started))}-{i}", body)
            other = ({"a", "b"} - started).pop()
            await cluster.until_bound(*[f"{other}-{i}" for i in range(4)])

    scene(kube_server, play)


def test_the_group_of_the_coscheduling_plugin_says_how_many_start_together(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await define_groups(cluster)
        await cluster.nodes(node("n1"), node("n2"))
        await cluster.pods(labelled(pod("w-0"), group="team"))
        async with cluster.scheduler():
            await says(cluster, "w-0", "pod group 'team', which does not exist")
            group = {
                "apiVersion": "scheduling.x-k8s.io/v1alpha1",
                "kind": "PodGroup",
                "metadata": {"name": "team"},
                "spec": {"minMember": 3},
            }
            await cluster.api.create(GROUPS, group)
            await says(cluster, "w-0", "1 of the 3 pods")
            await cluster.pods(*[labelled(pod(f"w-{i}"), group="team") for i in (1, 2)])
            await cluster.until_bound("w-0", "w-1", "w-2")
            await cluster.pods(labelled(pod("w-3"), group="team"))  # it has started: others come by themselves
            await cluster.until_bound("w-3")
        await undefine_groups(cluster)

    scene(kube_server, play)


def test_a_gang_lies_in_one_zone_though_others_have_more_room(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.nodes(*[node(f"a{i}", "3", **{ZONE: "a"}) for i in range(2)])
        await cluster.nodes(*[node(f"b{i}", "2", **{ZONE: "b"}) for i in range(4)])
        await cluster.pods(*gang("train", 7, 7, topology=f"required: {ZONE}"))
        async with cluster.scheduler():
            await cluster.until_bound(*[f"train-{i}" for i in range(7)])
            assert {name[0] for name in (await cluster.where()).values()} == {"b"}
            await cluster.pods(*gang("more", 8, 8, topology=f"required: {ZONE}"))
            await says(cluster, "more-0", "must start together")
            assert not any(found for name, found in (await cluster.where()).items() if name.startswith("more"))

    scene(kube_server, play)


def test_a_pod_goes_near_the_one_it_talks_to(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.nodes(*[node(f"{zone}{i}", "8", **{ZONE: zone}) for zone in "abc" for i in range(2)])
        await cluster.pods(pod("db-0", nodeSelector={ZONE: "b"}))
        async with cluster.scheduler():
            await cluster.until_bound("db-0")
            await cluster.pods(*[asking(pod(f"web-{i}"), traffic="[{to: db, mbps: 4Gbps}]") for i in range(4)])
            await cluster.until_bound(*[f"web-{i}" for i in range(4)])
            where = await cluster.where()
            assert {where[f"web-{i}"][0] for i in range(4)} == {"b"}

    scene(kube_server, play)


def test_a_constraint_in_our_words_holds_and_one_that_makes_no_sense_is_said(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.nodes(node("n1", disk="hdd"), node("n2", disk="ssd"))
        await cluster.pods(
            *[asking(pod(f"fast-{i}"), constraints="[{require: 'node.labels.disk == \"ssd\"'}]") for i in range(4)],
            asking(pod("wrong-1"), constraints="[{require: 'node.labels.disk =='}]"),
            asking(pod("wrong-2"), topologie="required: rack"),
            asking(pod("wrong-3"), gang="lonely"),
        )
        async with cluster.scheduler():
            await cluster.until_bound(*[f"fast-{i}" for i in range(4)])
            where = await cluster.where()
            assert {where[f"fast-{i}"] for i in range(4)} == {"n2"}
            await says(cluster, "wrong-1", f"annotation {PREFIX}constraints")
            await says(cluster, "wrong-2", "topologie")
            await says(cluster, "wrong-3", f"annotation {PREFIX}gang-min: is missing")

    scene(kube_server, play)


def test_one_that_failed_comes_back_though_the_others_of_its_gang_have_done_their_work(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.nodes(node("n1"), node("n2"))
        await cluster.pods(*gang("train", 4, 4))
        async with cluster.scheduler():
            await cluster.until_bound(*[f"train-{i}" for i in range(4)])
            for i in range(3):
                body = {"status": {"phase": "Succeeded"}}
                await cluster.api.patch(f"{PODS}/train-{i}/status", body)
            await cluster.api.patch(f"{PODS}/train-3/status", {"status": {"phase": "Failed"}})
        async with cluster.scheduler():  # one that was not there when they ran
            await cluster.pods(asking(pod("train-4"), gang="train", gang_min="4"))
            await cluster.until_bound("train-4")

    scene(kube_server, play)
