"""Follows a cluster and tells the engine of everything that affects where pods go.

Guarantees: `synced` is set when everything that existed at the start is known. Pods come last, so they are read with
their namespaces and volumes known. A change that may affect a decision sets `changed`. The reflectors resume
interrupted watches; only what cannot be resumed ends `run`.
Left to others: deciding, and executing decisions.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from dovetail.engine.engine import Engine
from dovetail.engine.questions.questions import Questions
from dovetail.kubernetes.objects.gangs import GROUP_API
from dovetail.kubernetes.objects.pods import PodReader
from dovetail.kubernetes.scheduler.object_handlers import ObjectHandlers
from dovetail.kubernetes.scheduler.pod_tracker import PodTracker
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.optional import OptionalReflector
from dovetail.kubernetes_client.paths import CORE, DEVICES, NODES, PODS
from dovetail.kubernetes_client.reflector import ChangeKind, Handler, ObjectChange, Reflector

_log = logging.getLogger(__name__)

_STORAGE = "/apis/storage.k8s.io/v1"
FORGET_S = 5.0
GOING_S = 1.0
"""A pod that we have told to go is marked as going, and most often gone a moment later: so long the mark waits."""


class ClusterInformer:
    def __init__(
        self,
        api: Api,
        engine: Engine,
        readers: Mapping[str, PodReader],
        now: Callable[[], float],
        *,
        allocates: bool = True,
    ) -> None:
        """`readers`: how pods are read, by their `schedulerName`; all readers share one view of volumes and devices.
        `allocates`: we allocate the devices that pods claim."""
        first = next(iter(readers.values()))
        for reader in readers.values():
            reader.storage, reader.devices, reader.allocates = first.storage, first.devices, allocates
        self._allocates, self._now = allocates, now
        self._forgot = 0.0  # when it was last asked which devices nobody asks for any more
        self._api = api
        self.engine, self.storage, self.devices = engine, first.storage, first.devices
        self.questions = Questions(engine)
        self.tracker = PodTracker(engine, readers, now)
        self.objects = ObjectHandlers(engine, self.tracker, readers, now)
        self._reflectors: list[Reflector] = []
        self._away: set[str] = set()  # collections that cannot be followed now
        self._going: dict[str, Mapping[str, Any]] = {}  # by uid: pods that are marked, and were told to go by us
        self.changed = asyncio.Event()
        self.synced = asyncio.Event()

    async def run(self) -> None:
        """Runs until cancelled, or until the cluster cannot be followed."""
        objects = self.objects
        first = [
            self._follow(NODES, objects.nodes),
            self._follow(f"{CORE}/namespaces", objects.namespaces),
            self._follow(f"{CORE}/persistentvolumes", objects.volumes),
            self._follow(f"{CORE}/persistentvolumeclaims", objects.claims),
            self._follow(f"{_STORAGE}/storageclasses", objects.classes),
            self._follow(f"{_STORAGE}/csinodes", objects.csi_nodes),
            self._follow(f"{_STORAGE}/csidrivers", objects.drivers),
            self._follow(f"{_STORAGE}/csistoragecapacities", objects.rooms),
            self._follow("/apis/policy/v1/poddisruptionbudgets", objects.disruption_budgets),
        ]
        also = [self._follow(GROUP_API, objects.pod_groups)]
        if self._allocates:
            also += [
                self._follow(f"{DEVICES}/deviceclasses", objects.device_classes),
                self._follow(f"{DEVICES}/resourceslices", objects.slices),
                self._follow(f"{DEVICES}/resourceclaims", objects.device_claims),
            ]
        perhaps = [OptionalReflector(one) for one in also]
        pods = self._follow(PODS, self._pods)
        async with asyncio.TaskGroup() as group:
            for one in first:
                group.create_task(one.run(), name="follow")
            for one_more in perhaps:
                group.create_task(one_more.run(), name="follow")
            for synced in (*(one.synced for one in first), *(one.settled for one in perhaps)):
                await synced.wait()
            objects.pods_outdated = objects.claims_outdated = False  # nobody was read before all this was known
            group.create_task(pods.run(), name="follow pods")
            await pods.synced.wait()
            _log.info("follows %d nodes and %d pods", len(first[0]), len(pods))
            self.synced.set()

    def node_labels(self, node: str) -> dict[str, str]:
        """As selectors see them, with the node's name; empty for a node that is gone."""
        return self.questions.nodes.labels(node)

    def read_again(self) -> None:
        """Reads pending pods again whose meaning may have changed, and updates nodes whose devices changed."""
        objects = self.objects
        if objects.pods_outdated or objects.claims_outdated:
            self.tracker.read_again(with_claims=not objects.pods_outdated)
            objects.pods_outdated = objects.claims_outdated = False
        self.tracker.read_places_again(self.devices.take_affected_pods())
        objects.mark_nodes()

    def forget_devices(self) -> None:
        """Stops marking nodes for devices that no pending pod claims."""
        if self.devices.wanted and self._now() > self._forgot + FORGET_S:
            self._forgot = self._now()
            self.devices.keep_only([known.meaning.devices_mark for known in self.tracker.waiting() if known.meaning])

    def _follow(self, path: str, handler: Handler) -> Reflector:
        def hear(changes: list[ObjectChange]) -> None:
            handler(changes)
            self.changed.set()

        def told(healthy: bool, why: str) -> None:
            if not healthy and not self._away:
                _log.warning("cannot follow the cluster, goes on trying: %s", why)
            elif healthy and self._away == {path}:
                _log.warning("follows the cluster again")
            (self._away.discard if healthy else self._away.add)(path)

        found = Reflector(self._api, path, hear, told=told)
        self._reflectors.append(found)
        return found

    @property
    def troubles(self) -> int:
        """How often a watch was interrupted and resumed."""
        return sum(one.counts.troubles for one in self._reflectors)

    @property
    def relists(self) -> int:
        """How often a watch could not be resumed and its collection was listed again."""
        return sum(max(0, one.counts.lists - 1) for one in self._reflectors)

    def _pods(self, changes: list[ObjectChange]) -> None:
        # What became of a pod on its way out does not matter where the same batch says that it is gone.
        gone = {change.object["metadata"]["uid"] for change in changes if change.kind is ChangeKind.DELETED}
        for change in changes:
            about = change.object["metadata"]
            if change.kind is ChangeKind.DELETED:
                self._going.pop(about["uid"], None)
                self.tracker.deleted((about["namespace"], about["name"]), about["uid"])
            elif about["uid"] in gone:
                continue
            elif self.tracker.is_our_eviction(change.object):
                self._goes(about["uid"], change.object)
            else:
                self._going.pop(about["uid"], None)
                self.tracker.seen(change.object)

    def _goes(self, uid: str, pod: Mapping[str, Any]) -> None:
        if uid not in self._going:
            asyncio.get_running_loop().call_later(GOING_S, self._still_goes, uid)
        self._going[uid] = pod

    def _still_goes(self, uid: str) -> None:
        """The pod takes long to terminate: it counts as terminating from now on."""
        pod = self._going.pop(uid, None)
        if pod is not None:
            self.tracker.seen(pod)
            self.changed.set()
