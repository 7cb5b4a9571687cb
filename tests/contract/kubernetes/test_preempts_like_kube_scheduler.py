"""Full clusters with an urgent pod each: kube-scheduler makes room there, and so do we, on the same objects.

We nominate a node whenever it does, and only then, and nobody has to go who is worse to lose by its own measure.
DOVETAIL_KUBERNETES_SEED=N tries other clusters.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from tests.contract.kubernetes.cluster import AT_ONCE
from tests.contract.kubernetes.followed import followed
from tests.contract.kubernetes.full_clusters import PATIENT, PRIORITIES, FullCluster, full_clusters
from tests.contract.kubernetes.gate import straight
from tests.contract.kubernetes.laid_out import NODES, PODS, clear
from tests.examples import times
from tests.patience import PATIENCE_S
from tests.servers.kubernetes.server import KubeServer

from dovetail.kubernetes.scheduler.scheduler import PodScheduler
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.errors import AlreadyExists

pytestmark = [pytest.mark.needs_server, pytest.mark.slow, pytest.mark.xdist_group("kubernetes")]

Json = dict[str, Any]
#: By cluster, the node that is nominated and who has to go; None: nobody gives way.
Outcome = dict[str, tuple[str, set[str]] | None]

SEED = int(os.environ.get("DOVETAIL_KUBERNETES_SEED", "1"))
CLUSTERS = times(20)
STEADY = 10
"""So many looks in a row at the same picture, and nobody is about to be deleted any more."""
LOOK_S = 0.2


def test_we_make_room_where_kube_scheduler_does_with_victims_no_worse(kube_server: KubeServer) -> None:
    theirs, ours = asyncio.run(_both(kube_server, full_clusters(SEED, CLUSTERS)))
    unlike = []
    for cluster in full_clusters(SEED, CLUSTERS):
        one, other = theirs[cluster.name], ours[cluster.name]
        if one is None or other is None:
            if one is not other:
                unlike.append(f"{cluster.name}: kube-scheduler nominates {one}, we {other}")
        elif cluster.measure(*other) > cluster.measure(*one):
            unlike.append(f"{cluster.name}: {other} is worse than {one}")
    assert not unlike, f"seed {SEED}\n" + "\n".join(unlike)
    assert sum(one is not None for one in theirs.values()) > CLUSTERS / 2, "hardly anybody had to give way"


async def _both(server: KubeServer, clusters: list[FullCluster]) -> tuple[Outcome, Outcome]:
    async with straight(server) as api:
        await clear(api)
        for name, value in PRIORITIES.items():
            policy = "Never" if name == PATIENT else "PreemptLowerPriority"
            body = {"metadata": {"name": name}, "value": value, "preemptionPolicy": policy}
            with suppress(AlreadyExists):
                await api.create("/apis/scheduling.k8s.io/v1/priorityclasses", body)
        await _lay_out(api, clusters, "default-scheduler")
        async with _theirs(server):
            theirs = await _outcome(api, clusters)
        await _restore(api, clusters, theirs, "dovetail")
        async with _ours(server):
            ours = await _outcome(api, clusters)
        await clear(api)
        return theirs, ours


async def _lay_out(api: Api, clusters: list[FullCluster], scheduler: str) -> None:
    await asyncio.gather(*[_lay_out_one(api, cluster, scheduler) for cluster in clusters])


async def _lay_out_one(api: Api, cluster: FullCluster, scheduler: str) -> None:
    with suppress(AlreadyExists):
        await api.create("/api/v1/namespaces", {"metadata": {"name": cluster.name}})
        for app, allowed in cluster.allowed.items():
            await _budget(api, cluster.name, app, allowed)
    pods = f"/api/v1/namespaces/{cluster.name}/pods"
    for node in cluster.nodes:
        await api.create(NODES, node)
    for pod in cluster.placed:
        await _place(api, cluster, pod)
    await api.create(pods, _urgent(cluster, scheduler))


async def _place(api: Api, cluster: FullCluster, pod: Json) -> None:
    name, pods = pod["metadata"]["name"], f"/api/v1/namespaces/{cluster.name}/pods"
    await api.create(pods, pod)
    status = {"phase": "Running", "startTime": cluster.started[name]}
    await api.patch(f"{pods}/{name}/status", {"status": status})


def _urgent(cluster: FullCluster, scheduler: str) -> Json:
    return cluster.urgent | {"spec": cluster.urgent["spec"] | {"schedulerName": scheduler}}


async def _restore(api: Api, clusters: list[FullCluster], outcome: Outcome, scheduler: str) -> None:
    """As they were before somebody made room."""
    await asyncio.gather(*[_restore_one(api, one, outcome[one.name], scheduler) for one in clusters])


async def _restore_one(api: Api, cluster: FullCluster, made: tuple[str, set[str]] | None, scheduler: str) -> None:
    pods, victims = f"/api/v1/namespaces/{cluster.name}/pods", set() if made is None else made[1]
    for name in ("urgent", *sorted(victims)):
        await api.delete(f"{pods}/{name}", AT_ONCE)
    for pod in cluster.placed:
        if pod["metadata"]["name"] in victims:
            await _place(api, cluster, pod)
    await api.create(pods, _urgent(cluster, scheduler))


async def _budget(api: Api, namespace: str, app: str, allowed: int) -> None:
    path = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets"
    spec = {"minAvailable": 0, "selector": {"matchLabels": {"app": app}}}
    await api.create(path, {"metadata": {"name": app}, "spec": spec})
    healthy = {"disruptionsAllowed": allowed, "currentHealthy": 9, "desiredHealthy": 9 - allowed, "expectedPods": 9}
    await api.patch(f"{path}/{app}/status", {"status": healthy})


@asynccontextmanager
async def _theirs(server: KubeServer) -> AsyncIterator[None]:
    stock = await asyncio.to_thread(server.start_scheduler)
    try:
        yield
    finally:
        await asyncio.to_thread(stock.daemon.kill)


@asynccontextmanager
async def _ours(server: KubeServer) -> AsyncIterator[None]:
    async with straight(server) as api:
        running = asyncio.create_task(PodScheduler(api).run())
        try:
            yield
            assert not running.done()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def _outcome(api: Api, clusters: list[FullCluster]) -> Outcome:
    """When every urgent pod has been looked at and nothing changes any more."""
    found: Outcome = {}
    steady = 0
    async with followed(api, PODS) as known:
        async with asyncio.timeout(PATIENCE_S):
            while steady < STEADY:
                pods = list(known.values())
                urgent = [one for one in pods if one["metadata"]["name"] == "urgent"]
                now = {one["metadata"]["namespace"]: _made_way(one, pods) for one in urgent}
                judged = all(one["status"].get("conditions") for one in urgent)
                halfway = any(one is not None and not one[1] for one in now.values())
                steady = steady + 1 if now == found and judged and not halfway else 0
                found = now
                await asyncio.sleep(LOOK_S)
    assert len(found) == len(clusters)
    return found


def _made_way(urgent: Json, pods: list[Json]) -> tuple[str, set[str]] | None:
    node = urgent["status"].get("nominatedNodeName")
    if not node:
        return None
    space = urgent["metadata"]["namespace"]
    own = [one["metadata"] for one in pods if one["metadata"]["namespace"] == space]
    return node, {about["name"] for about in own if "deletionTimestamp" in about}
