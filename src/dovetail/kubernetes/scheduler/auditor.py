"""Audits the scheduler's state against the API every few minutes and logs differences.

Guarantees: a difference counts as drift only if several comparisons, seconds apart, find it, so changes under way do
not count. Nothing is repaired here. A comparison reads the API page by page and lets other tasks run in between. An API
that cannot be read is no drift.
"""

import asyncio
import logging
from collections.abc import Callable, Collection

from dovetail.kubernetes.scheduler.audit import Difference, PodFact, audit, facts_of, nodes_of
from dovetail.kubernetes.scheduler.cluster_informer import ClusterInformer
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.errors import KubernetesApiError
from dovetail.kubernetes_client.paths import NODES, PODS, STORAGE

_log = logging.getLogger(__name__)

LOOKS = 3
BETWEEN_LOOKS_S = 10.0
"""An interrupted watch is resumed within this."""
SAID = 20  # differences that are named in the log; the others are counted


class Auditor:
    """`audits`: how many have run; `drift`: how many lasting differences they found in all; `last`: those of the last
    one."""

    def __init__(
        self,
        api: Api,
        cluster: ClusterInformer,
        names: Collection[str],
        under_way: Callable[[], Collection[int]] = tuple,
        between_looks_s: float = BETWEEN_LOOKS_S,
    ) -> None:
        """`names`: our scheduler names; `under_way`: workloads that have a node here and whose binding may take long to
        reach the API."""
        self._api, self._cluster, self._names, self._under_way = api, cluster, names, under_way
        self._between_looks_s = between_looks_s
        self.audits = 0
        self.drift = 0
        self.last: list[Difference] = []

    async def run(self, every_s: float) -> None:
        """Runs until cancelled; returns at once where `every_s` is 0."""
        while every_s:
            await asyncio.sleep(every_s)
            try:
                await self.audit()
            except KubernetesApiError as error:
                _log.info("no audit this time: %s", error)

    async def audit(self) -> list[Difference]:
        """Differences that last. Raises KubernetesApiError if the API cannot be read."""
        troubles = self._cluster.troubles
        found = await self.look()
        for _ in range(LOOKS - 1):
            if not found:
                break
            await asyncio.sleep(self._between_looks_s)
            before = {one.about for one in found}
            found = [one for one in await self.look() if one.about in before]
        if found and self._cluster.troubles != troubles:
            _log.info("no audit this time: a watch was interrupted, and its changes are not known yet")
            return []
        self.audits += 1
        self.drift += len(found)
        self.last = found
        for one in found[:SAID]:
            _log.error("drift: %s", one)
        if found:
            _log.error("drift: %d differences from the API lasted; restart the scheduler, and report this", len(found))
        return found

    async def look(self) -> list[Difference]:
        """Differences as of now, including changes under way."""
        csi_nodes = await self._api.items(f"{STORAGE}/csinodes")
        nodes = nodes_of(await self._api.items(NODES), csi_nodes)
        facts: list[PodFact] = []
        async for page in self._api.pages(PODS):
            facts += facts_of(page.get("items") or ())
        cluster = self._cluster
        return audit(cluster.questions, cluster.tracker, self._names, nodes, facts, self._under_way())
