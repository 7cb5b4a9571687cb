"""Follows a cluster and tells the engine of everything that affects where pods go.

Guarantees: `synced` is set when everything that existed at the start is known. Pods come last, so they are read with
their namespaces and volumes known. A change that may affect a decision sets `changed`. The reflectors resume
interrupted watches; only what cannot be resumed ends `run`.
Left to others: deciding, and executing decisions.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping

from dovetail.engine.engine import Engine
from dovetail.engine.questions.questions import Questions
from dovetail.kubernetes.objects.pods import PodReader
from dovetail.kubernetes.scheduler.cut_gangs import CutGangs
from dovetail.kubernetes.scheduler.object_handlers import ObjectHandlers
from dovetail.kubernetes.scheduler.pod_tracker import PodTracker
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.objects import Json, NamespacedName, namespaced_name
from dovetail.kubernetes_client.paths import PODS
from dovetail.kubernetes_client.reflector import ChangeKind, Handler, ObjectChange, OptionalReflector, Reflector

_log = logging.getLogger(__name__)

FORGET_S = 5.0
TERMINATING_S = 1.0
"""A pod that we evicted is terminating, and most often gone a moment later: it is handled if it still is after this."""


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
        self._forgot = 0.0  # when devices were last forgotten
        self._api = api
        self.engine, self.storage, self.devices = engine, first.storage, first.devices
        self.questions = Questions(engine)
        self.tracker = PodTracker(engine, readers, now)
        self._pod_seen: Callable[[Json], None] = lambda _: None
        self._pod_gone: Callable[[NamespacedName], None] = lambda _: None
        self.cut_gangs = CutGangs(self.tracker, self.questions.pods)
        self.objects = ObjectHandlers(engine, self.tracker, readers, now)
        self.reflectors: list[Reflector] = []
        self._away: set[str] = set()  # collections that cannot be followed now
        self._terminating: dict[str, Json] = {}  # by uid: pods that we evicted
        self.changed = asyncio.Event()
        self.reports = 0  # how often watches delivered changes
        self.synced = asyncio.Event()

    def follow_pods(self, seen: Callable[[Json], None], gone: Callable[[NamespacedName], None]) -> None:
        """Call these for pods as well."""
        self._pod_seen, self._pod_gone = seen, gone

    async def run(self) -> None:
        """Runs until cancelled, or until the cluster cannot be followed."""
        objects = self.objects
        required = [self._follow(path, handler) for path, handler in objects.required().items()]
        others = objects.optional(devices=self._allocates)
        optional = [OptionalReflector(self._follow(path, handler)) for path, handler in others.items()]
        pods = self._follow(PODS, self._pods)
        async with asyncio.TaskGroup() as group:
            for run in (*(one.run for one in required), *(one.run for one in optional)):
                group.create_task(run(), name="follow")
            for synced in (*(one.synced for one in required), *(one.settled for one in optional)):
                await synced.wait()
            objects.pods_outdated = objects.claims_outdated = False  # no pod was read before all this was known
            group.create_task(pods.run(), name="follow pods")
            await pods.synced.wait()
            _log.info("follows %d nodes and %d pods", len(required[0]), len(pods))
            self.synced.set()

    async def list_again(self) -> None:
        """Returns when everything is known that the API had at the time of the call, however late the watches are."""
        await asyncio.gather(*[one.list_again() for one in self.reflectors if one.synced.is_set()])

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
        def handle(changes: list[ObjectChange]) -> None:
            handler(changes)
            self._report()

        def told(healthy: bool, why: str) -> None:
            if not healthy and not self._away:
                _log.warning("cannot follow the cluster, goes on trying: %s", why)
            elif healthy and self._away == {path}:
                _log.warning("follows the cluster again")
            (self._away.discard if healthy else self._away.add)(path)

        found = Reflector(self._api, path, handle, told=told)
        self.reflectors.append(found)
        return found

    @property
    def troubles(self) -> int:
        """How often a watch was interrupted and resumed."""
        return sum(one.troubles for one in self.reflectors)

    def _pods(self, changes: list[ObjectChange]) -> None:
        # Earlier changes of a pod do not matter if the same batch reports it deleted.
        gone = {change.object["metadata"]["uid"] for change in changes if change.kind is ChangeKind.DELETED}
        for change in changes:
            uid = change.object["metadata"]["uid"]
            self.cut_gangs.note(change.object, deleted=change.kind is ChangeKind.DELETED)
            if change.kind is ChangeKind.DELETED:
                self._pod_gone(namespaced_name(change.object))
            else:
                self._pod_seen(change.object)
            if change.kind is ChangeKind.DELETED:
                self._terminating.pop(uid, None)
                self.tracker.deleted(namespaced_name(change.object), uid)
            elif uid in gone:
                continue
            elif self.tracker.is_our_eviction(change.object):
                if uid not in self._terminating:
                    asyncio.get_running_loop().call_later(TERMINATING_S, self._still_terminating, uid)
                self._terminating[uid] = change.object
            else:
                self._terminating.pop(uid, None)
                self.tracker.seen(change.object)

    def _still_terminating(self, uid: str) -> None:
        """The pod takes long to terminate: it counts as terminating from now on."""
        pod = self._terminating.pop(uid, None)
        if pod is not None:
            self.tracker.seen(pod)
            self._report()

    def _report(self) -> None:
        self.reports += 1
        self.changed.set()
