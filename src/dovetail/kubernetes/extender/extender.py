"""The extender: a cluster followed, and the answers to a stock kube-scheduler that asks about it.

Everything that touches the engine happens on one event loop, between two awaits. The engine is never told to decide:
it holds the cluster as the watches tell of it, with the pods of kube-scheduler as work that waits, and is asked.

Guarantees: nothing is answered before everything that was there at the start is known. State lives in the API server
alone; after a restart gangs of which nothing is bound are planned anew. Several at once do no harm as long as one
kube-scheduler asks only one of them: plans are each one's own.
Left to others: the web server (`app`, `serving`).
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

from dovetail.kubernetes.client.api import Api
from dovetail.kubernetes.extender.binding import Binding
from dovetail.kubernetes.extender.deciding import Deciding
from dovetail.kubernetes.extender.nudging import Nudges
from dovetail.kubernetes.extender.preempting import Preempting
from dovetail.kubernetes.extender.put_aside import PutAside
from dovetail.kubernetes.extender.settings import KubernetesExtenderSettings
from dovetail.kubernetes.gangs import gang_of
from dovetail.kubernetes.pods import PodReader
from dovetail.kubernetes.scheduler.following import Following
from dovetail.kubernetes.scheduler.settings import engine_for, line_of

Json = Mapping[str, Any]

HOUSEKEEPING_S = 1.0


class Extender:
    def __init__(
        self,
        api: Api,
        settings: KubernetesExtenderSettings | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Raises ValueError for settings that no engine can be made of."""
        self.settings = settings or KubernetesExtenderSettings()
        self.engine = engine_for(self.settings)
        readers = {name: PodReader(line_of(name), profile) for name, profile in self.settings.names.items()}
        self.following = Following(api, self.engine, readers, now, allocates=False)
        self._nudges = Nudges(api)
        self.put_aside = PutAside(self.following.ledger, self._nudges.put)
        self.deciding = Deciding(self.engine, self.following, readers, self.settings, self.put_aside, now)
        keep_s = self.settings.keep_plan_s
        self.preempting = Preempting(self.engine, self.following, self.deciding, keep_s, now)
        limits = self.settings.bind_within_s, keep_s
        self.binding = Binding(api, self.engine, self.following.ledger, self.deciding, *limits, now)

    @property
    def ready(self) -> bool:
        return self.following.synced.is_set()

    async def run(self) -> None:
        """Until cancelled, or until following the cluster is impossible."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.following.run(), name="follow the cluster")
            await self.following.synced.wait()
            group.create_task(self._nudges.run(), name="nudge")
            group.create_task(self._keep_house(), name="keep house")

    async def told_of(self, pod: Json) -> None:
        """Waits a little for the watch to tell of a pod of a gang, which kube-scheduler may know before us."""
        if not gang_of(pod):
            return
        about, pods = pod["metadata"], self.following.ledger.pods
        place = about["namespace"], about["name"]
        try:
            async with asyncio.timeout(self.settings.watch_patience_s):
                while (known := pods.get(place)) is None or known.uid != about["uid"]:
                    self.following.dirty_rows.clear()
                    await self.following.dirty_rows.wait()
        except TimeoutError:
            return

    async def _keep_house(self) -> None:
        """Also when nobody asks."""
        while True:
            self.deciding.refresh()
            self.put_aside.renew()
            await asyncio.sleep(HOUSEKEEPING_S)
