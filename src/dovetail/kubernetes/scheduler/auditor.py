"""Looks every few minutes whether what we believe is what the API says, and says so where it is not.

Guarantees: what is counted as drift has lasted: it was there at several looks, some seconds apart, so that nothing
counts that is merely under way. Nothing is mended and nothing is decided here; a look reads the API page by page and
lets others run in between. An API that cannot be read is no drift: the next look may be luckier.
"""

import asyncio
import logging
from collections.abc import Callable, Collection

from dovetail.kubernetes.client.api import Api
from dovetail.kubernetes.client.errors import ApiError
from dovetail.kubernetes.client.paths import NODES, PODS
from dovetail.kubernetes.scheduler.audit import Difference, Fact, audit, facts_of, nodes_of
from dovetail.kubernetes.scheduler.following import Following

_log = logging.getLogger(__name__)

CSI_NODES = "/apis/storage.k8s.io/v1/csinodes"
LOOKS = 3
BETWEEN_LOOKS_S = 10.0
"""A watch that broke is taken up again within this."""
SAID = 20  # differences that are named in the log; the others are counted


class Auditor:
    """`audits`: how often everything was compared; `drift`: how many differences lasted, since the start; `last`: those
    that the last audit found."""

    def __init__(
        self,
        api: Api,
        cluster: Following,
        names: Collection[str],
        under_way: Callable[[], Collection[int]] = tuple,
        between_looks_s: float = BETWEEN_LOOKS_S,
    ) -> None:
        """`names`: of schedulers that are ours; `under_way`: workloads that have a node here which the API may learn of
        much later."""
        self._api, self._cluster, self._names, self._under_way = api, cluster, names, under_way
        self._between_looks_s = between_looks_s
        self.audits = 0
        self.drift = 0
        self.last: list[Difference] = []

    async def run(self, every_s: float) -> None:
        """Until cancelled; not at all where `every_s` is 0."""
        while every_s:
            await asyncio.sleep(every_s)
            try:
                await self.audit()
            except ApiError as error:
                _log.info("no audit this time: %s", error)

    async def audit(self) -> list[Difference]:
        """Differences that last; raises ApiError where the API cannot be read."""
        troubles = self._cluster.troubles
        found = await self.look()
        for _ in range(LOOKS - 1):
            if not found:
                break
            await asyncio.sleep(self._between_looks_s)
            before = {one.about for one in found}
            found = [one for one in await self.look() if one.about in before]
        if found and self._cluster.troubles != troubles:
            _log.info("no audit this time: a watch is interrupted, and what it would tell is not known yet")
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
        """Differences as of now, those included that are merely under way."""
        csi_nodes = await self._api.items(CSI_NODES)
        nodes = nodes_of(await self._api.items(NODES), csi_nodes)
        facts: list[Fact] = []
        async for page in self._api.pages(PODS):
            facts += facts_of(page.get("items") or ())
        cluster = self._cluster
        return audit(cluster.engine, cluster.ledger, self._names, nodes, facts, self._under_way())
