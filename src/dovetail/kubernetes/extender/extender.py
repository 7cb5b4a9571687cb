"""The extender: follows the cluster and answers a stock kube-scheduler.

Everything that touches the engine runs on one event loop, between two awaits. The engine never decides: it holds the
cluster as the watches report it, with the pods of kube-scheduler as pending work, and answers questions.

Guarantees: nothing is answered before everything that existed at the start is known. All state is in the API server;
after a restart gangs without a bound pod are planned again. Several extenders may run if each kube-scheduler asks only
one of them: each has its own plans.
Left to others: the web server (`app`).
"""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress

from dovetail.kubernetes.extender.bind_verb import BindVerb
from dovetail.kubernetes.extender.filter_verb import FilterVerb
from dovetail.kubernetes.extender.preempt_verb import PreemptVerb
from dovetail.kubernetes.extender.refused_pods import PodNudger, RefusedPods
from dovetail.kubernetes.extender.settings import KubernetesExtenderSettings
from dovetail.kubernetes.objects.gangs import gang_of
from dovetail.kubernetes.objects.pods import PodReader
from dovetail.kubernetes.scheduler.binder import Binder, PodBinding, PodEviction
from dovetail.kubernetes.scheduler.cluster_informer import ClusterInformer
from dovetail.kubernetes.scheduler.settings import engine_for, line_of
from dovetail.kubernetes.scheduler.tracked_pod import TrackedPod
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.objects import Json, namespaced_name

_log = logging.getLogger(__name__)

HOUSEKEEPING_S = 1.0
EVICTIONS_AT_ONCE = 8


class Extender:
    def __init__(
        self,
        api: Api,
        settings: KubernetesExtenderSettings | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Raises ValueError for settings that no engine can be built from."""
        self.settings = settings or KubernetesExtenderSettings()
        self.engine = engine_for(self.settings)
        readers = {name: PodReader(line_of(name), profile) for name, profile in self.settings.names.items()}
        self.informer = ClusterInformer(api, self.engine, readers, now, allocates=False)
        self._nudges = PodNudger(api)
        self.refused_pods = RefusedPods(self.informer.tracker, self._nudges.put)
        keep_s, within_s = self.settings.keep_plan_s, self.settings.bind_within_s
        self.filter_verb = FilterVerb(self.engine, self.informer, readers, keep_s, self.refused_pods, now)
        self.preempt_verb = PreemptVerb(self.informer, self.filter_verb, keep_s, now)
        self._evictions = Binder(api, _nothing_bound, lambda _: None, EVICTIONS_AT_ONCE)
        self.bind_verb = BindVerb(api, self.informer, self.filter_verb, within_s, keep_s, now)

    @property
    def ready(self) -> bool:
        return self.informer.synced.is_set()

    async def run(self) -> None:
        """Runs until cancelled, or until the cluster cannot be followed."""
        self._evictions.begin()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.informer.run(), name="follow the cluster")
                await self.informer.synced.wait()
                group.create_task(self._nudges.run(), name="nudge")
                group.create_task(self._keep_house(), name="keep house")
        finally:
            await self._evictions.close()

    async def told_of(self, pod: Json) -> None:
        """Waits a little for the watch to report a pod of a gang, which kube-scheduler may know before us."""
        if not gang_of(pod):
            return
        pods, place, uid = self.informer.tracker.pods, namespaced_name(pod), pod["metadata"]["uid"]
        with suppress(TimeoutError):
            async with asyncio.timeout(self.settings.watch_patience_s):
                while (known := pods.get(place)) is None or known.uid != uid:
                    self.informer.changed.clear()
                    await self.informer.changed.wait()

    async def _keep_house(self) -> None:
        """Refreshes regularly, even when kube-scheduler does not ask."""
        while True:
            self.filter_verb.refresh()
            self.filter_verb.stale_refusals.recheck()
            self.refused_pods.renew()
            self.informer.cut_gangs.evict_rest(self._evict)
            await asyncio.sleep(HOUSEKEEPING_S)

    def _evict(self, eviction: PodEviction, known: TrackedPod, why: str) -> None:
        _log.info("%s/%s: %s", known.namespace, known.name, why)
        self._evictions.put(eviction)


def _nothing_bound(_: PodBinding, why_not: str) -> None:
    """Pods are bound by the bind verb."""
    raise AssertionError(why_not)
