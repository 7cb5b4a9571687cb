"""The same pods, the same nodes, the same API server: which nodes kube-scheduler would choose from, and which we would.

Each cluster is random. A stock kube-scheduler judges every pod that waits there, and a listening extender hears all
nodes that pass its filters; nothing is bound, so that all pods are judged against one state. What must agree: for every
pod and node whether it may go there; how many nodes each of its plugins refuses; on how many eviction might help.
Then our own scheduler is given the pods one by one, in the same cluster: it binds those that have a node, to one that
kube-scheduler would have chosen from, and no others.

The seed is fixed; DOVETAIL_KUBERNETES_SEED=N tries other clusters.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from tests.contract.kubernetes.cluster import AT_ONCE
from tests.contract.kubernetes.followed import Known, followed
from tests.contract.kubernetes.gate import straight
from tests.contract.kubernetes.laid_out import (
    clear,
    create_pods,
    lay_out,
    lay_out_classes,
    path_of,
    read_back,
    say_devices,
)
from tests.contract.kubernetes.listening_extender import Listener, listener
from tests.contract.kubernetes.random_cluster import RandomCluster, random_cluster
from tests.contract.kubernetes.their_words import HEARD, SEVERAL_A_NODE, TheirWords, read
from tests.examples import times
from tests.patience import until
from tests.servers.kubernetes.server import KubeServer

from dovetail.kubernetes.checking.cluster_replica import ClusterReplica
from dovetail.kubernetes.checking.verdicts import Verdict
from dovetail.kubernetes.scheduler.scheduler import PodScheduler
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.paths import PODS

pytestmark = [pytest.mark.needs_server, pytest.mark.slow, pytest.mark.xdist_group("kubernetes")]

Json = dict[str, Any]

SEED = int(os.environ.get("DOVETAIL_KUBERNETES_SEED", "1"))
CLUSTERS, WAITING = times(3), 80
NOW = 4_000_000_000.0


@dataclass
class Judged:
    """A pod as stored, the nodes it may go to by kube-scheduler's word, and what that says of the others."""

    pod: Json
    nodes: frozenset[str]
    words: TheirWords

    @property
    def name(self) -> str:
        return f"{self.pod['metadata']['namespace']}/{self.pod['metadata']['name']}"


@pytest.mark.parametrize("seed", range(SEED, SEED + CLUSTERS))
def test_every_node_and_every_reason_is_judged_alike_and_pods_are_bound_accordingly(
    kube_server: KubeServer, seed: int
) -> None:
    asyncio.run(_compare(kube_server, seed))


async def _compare(server: KubeServer, seed: int) -> None:
    cluster = random_cluster(seed, WAITING)
    async with straight(server) as api:
        await clear(api)
        await lay_out_classes(api)
        await lay_out(api, cluster)
        try:
            await create_pods(api, cluster.waiting)
            judged = await _judge(server, api)
            scene = _scene(await read_back(api))
            unlike = [words for one in judged for words in _unlike(scene, one)]
            assert not unlike, f"seed {seed}: {len(unlike)} disagreements\n" + "\n".join(unlike[:20])
            _tells_enough(judged, len(cluster.nodes))
            await _bind_one_by_one(server, api, cluster, judged)
        finally:
            await clear(api)


# --- kube-scheduler ---------------------------------------------------------------------------------------------------


async def _judge(server: KubeServer, api: Api) -> list[Judged]:
    """All pods that wait, when kube-scheduler has said something of every one."""
    async with followed(api, PODS) as known, listener() as ear:

        def said() -> list[Json]:
            return [pod for pod in known.values() if pod["spec"].get("schedulerName") == "judge"]

        config = _config(server, ear)
        stock = await asyncio.to_thread(server.start_scheduler, config)
        try:
            await until(lambda: len(said()) == WAITING and all(map(_verdict, said())), "a verdict on each pod")
        finally:
            await asyncio.to_thread(stock.daemon.kill)
        found = []
        for pod in said():
            if not _gave_up(pod):
                words = read(_verdict(pod))
                found.append(Judged(pod, ear.heard.get(pod["metadata"]["uid"], frozenset()), words))
        return found


def _config(server: KubeServer, ear: Listener) -> Json:
    return {
        "profiles": [{"schedulerName": "judge", "percentageOfNodesToScore": 100}],
        "extenders": ear.config(),
        # It tells of fifty pods a second unless it is told otherwise.
        "clientConnection": {"kubeconfig": str(server.kubeconfig), "qps": 1000, "burst": 2000},
    }


def _verdict(pod: Json) -> str:
    return str(_scheduled(pod).get("message", ""))


def _gave_up(pod: Json) -> bool:
    """Something was wrong on one node, such as a pool of devices that is being rewritten, and so it looked at none."""
    return bool(_scheduled(pod).get("reason") == "SchedulerError")


def _scheduled(pod: Json) -> Json:
    for condition in pod["status"].get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            assert condition["reason"] in ("Unschedulable", "SchedulerError"), condition
            return dict(condition)
    return {}


# --- beside ours ------------------------------------------------------------------------------------------------------


def _scene(objects: dict[str, list[Json]]) -> ClusterReplica:
    scene = ClusterReplica(NOW)
    scene.add_objects(objects)
    for pod in objects["pods"]:
        if pod["spec"].get("nodeName"):
            scene.place(pod, pod["spec"]["nodeName"])
    return scene


def _unlike(scene: ClusterReplica, judged: Judged) -> Iterator[str]:
    meaning = scene.reader.read(judged.pod)
    ours: dict[str, Verdict | None] = {}
    for node in scene.engine._state.cluster.rows:
        found = scene.verdicts(meaning, node)
        ours[node] = found[0] if found else None
        if (node in judged.nodes) != (not found):
            theirs = "would take it" if node in judged.nodes else "refuses it"
            words = f"{found[0].plugin}: {found[0].message}" if found else "it may go there"
            yield f"{judged.name} {node}: kube-scheduler {theirs}; we say {words}; it said {judged.words}"
    yield from _numbers(judged, ours)


def _numbers(judged: Judged, ours: dict[str, Verdict | None]) -> Iterator[str]:
    words = judged.words
    if words.nodes != len(ours):
        yield f"{judged.name}: kube-scheduler knows {words.nodes} nodes, we {len(ours)}"
    if words.whole:  # said of all nodes at once, before any was looked at
        return
    helps = sum(one is not None and one.helps for one in ours.values())
    # Whom node affinity leaves out it would have refused before anybody whom eviction could help; others would not.
    if words.helps is not None and words.left_out in ("", "NodeAffinity") and helps != words.helps:
        yield f"{judged.name}: eviction might help on {words.helps} nodes by their word, on {helps} by ours"
    if words.left_out:
        return
    refused = Counter(HEARD if one is None else one.plugin for one in ours.values())
    for plugin in refused.keys() | words.refused.keys():
        theirs, counted = words.refused[plugin], refused[plugin]
        alike = theirs >= counted and bool(theirs) == bool(counted) if plugin in SEVERAL_A_NODE else theirs == counted
        if not alike:
            yield f"{judged.name}: {plugin} refuses {theirs} by their word, {counted} by ours"


def _tells_enough(judged: list[Judged], nodes: int) -> None:
    """A comparison is worth something if the answers are not all the same."""
    allowed = sum(len(one.nodes) for one in judged)
    nowhere = sum(not one.nodes for one in judged)
    assert 0.05 < allowed / (len(judged) * nodes) < 0.95, "nearly all pairs are alike"
    assert 0.05 < nowhere / len(judged) < 0.95, "nearly all pods are alike"


# --- our scheduler ----------------------------------------------------------------------------------------------------


async def _bind_one_by_one(server: KubeServer, api: Api, cluster: RandomCluster, judged: list[Judged]) -> None:
    for one in judged:
        await api.delete(f"{path_of(one.pod)}/{one.pod['metadata']['name']}", AT_ONCE)
    wanted = {path_of(pod) + pod["metadata"]["name"]: pod for pod in cluster.waiting}
    later = {claim["metadata"]["name"] for claim in cluster.claims if not claim["spec"].get("volumeName")}
    async with straight(server) as own, followed(api, PODS) as known:
        scheduler = PodScheduler(own)
        running = asyncio.create_task(scheduler.run())
        try:
            async with asyncio.timeout(60):
                await scheduler.informer.synced.wait()
            for one in judged:
                pod = wanted[path_of(one.pod) + one.pod["metadata"]["name"]]
                claims = {volume["persistentVolumeClaim"]["claimName"] for volume in pod["spec"].get("volumes") or ()}
                if not (claims & later and one.nodes):  # volumes would have to be made first, and nobody does that here
                    await _bind(api, known, scheduler, pod, one, cluster.devices.allocated)
                assert not running.done()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def _bind(
    api: Api, known: Known, scheduler: PodScheduler, pod: Json, judged: Judged, allocated: Mapping[str, Json]
) -> None:
    """Given to it anew, and taken away again before the next comes. `allocated`: by claim, the devices that it had."""
    path, name = path_of(pod), pod["metadata"]["name"]
    place = pod["metadata"]["namespace"], name
    made = await api.create(path, pod | {"spec": pod["spec"] | {"schedulerName": "dovetail"}})

    def decided() -> bool:
        now = known.get(place)
        return now is not None and _uid(now) == _uid(made) and bool(now["spec"].get("nodeName") or _verdict(now))

    await until(decided, f"{judged.name} has a node, or says why not", every_s=0.002)
    node = known[place]["spec"].get("nodeName")
    if judged.nodes:
        assert node in judged.nodes, f"{judged.name} went to {node or 'no node'}, not one of {sorted(judged.nodes)}"
    else:
        assert not node, f"{judged.name} went to {node}, and kube-scheduler has no node for it: {judged.words}"
    await api.delete(f"{path}/{name}", AT_ONCE)
    for claim in pod["spec"].get("resourceClaims") or ():  # a controller would
        if judged.nodes:
            about = {"namespace": pod["metadata"]["namespace"], "name": claim["resourceClaimName"]}
            await say_devices(api, {"metadata": about}, allocated.get(claim["resourceClaimName"], {}))
    await until(lambda: place not in scheduler.tracker.pods, f"{judged.name} is forgotten", every_s=0.002)


def _uid(pod: Json) -> str:
    return str(pod["metadata"]["uid"])
