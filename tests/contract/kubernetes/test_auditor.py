"""The auditor of a scheduler that runs finds nothing where there is nothing, and what was lost where something was."""

import pytest
from tests.contract.kubernetes.cluster import Cluster, node, pod, scene
from tests.servers.kubernetes.server import KubeServer

from dovetail.kubernetes.scheduler.audit import Auditor
from dovetail.kubernetes.scheduler.scheduler import PodScheduler

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]


def auditor_of(cluster: Cluster, found: PodScheduler, between_looks_s: float = 0.5) -> Auditor:
    return Auditor(cluster.api, found.informer, found.settings.names, between_looks_s=between_looks_s)


def test_a_scheduler_that_knows_everything_has_no_drift(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.nodes(node("n1"), node("n2", zone="z1"))
        await cluster.pods(pod("a-1"), pod("a-2"), pod("other-1", schedulerName="other", nodeName="n1"))
        async with cluster.scheduler() as found:
            await cluster.pods(pod("big-1", cpu="64"), pod("gated-1", schedulingGates=[{"name": "example.com/gate"}]))
            await cluster.until_bound("a-1", "a-2")
            auditor = auditor_of(cluster, found, between_looks_s=1.0)  # a watch may still be on its way
            assert await auditor.audit() == []
            assert (auditor.audits, auditor.drift) == (1, 0)

    scene(kube_server, play)


def test_what_is_lost_for_good_is_counted_and_named(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.nodes(node("n1"))
        await cluster.pods(pod("a-1"), pod("big-1", cpu="64"))
        async with cluster.scheduler() as found:
            await cluster.until_bound("a-1")

            pods = found.informer.reflectors[-1]

            async def told() -> bool:  # and nothing more will be heard of it: the watch has reported that too
                big = await cluster.one("big-1")
                seen = pods._seen[("default", "big-1")].version == big["metadata"]["resourceVersion"]
                return seen and bool(big["status"].get("conditions"))

            await cluster.until(told, "it was told why it waits, and the watch has reported it")
            found.tracker.gone(("default", "big-1"))
            found.informer.changed.set()
            auditor = auditor_of(cluster, found)
            lost = await auditor.audit()
            assert [str(one) for one in lost] == [
                "pod default/big-1: waits for a node in the API, and the engine does not have it"
            ]
            assert auditor.last == lost
            assert auditor.drift == 1

    scene(kube_server, play)
