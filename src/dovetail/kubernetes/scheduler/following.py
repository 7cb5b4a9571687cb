"""A cluster followed: everything that matters to where pods go, told to the engine as it changes.

Guarantees: `synced` is set when everything that was there at the start is known, pods last, so that they are read with
their namespaces and volumes known. A change that may matter to a decision sets `dirty_rows`. What breaks on the way is
mended by the reflectors; only what cannot be mended ends `run`.
Left to others: deciding, and carrying out what was decided.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from dovetail.engine.engine import Engine
from dovetail.kubernetes.client.api import Api
from dovetail.kubernetes.client.optional import OptionalReflector
from dovetail.kubernetes.client.paths import CORE, DEVICES, NODES, PODS
from dovetail.kubernetes.client.reflector import Change, Handler, Kind, Reflector
from dovetail.kubernetes.gangs import GROUP_API
from dovetail.kubernetes.pods import PodReader
from dovetail.kubernetes.scheduler.ledger import Ledger
from dovetail.kubernetes.scheduler.objects import Objects

_log = logging.getLogger(__name__)

_STORAGE = "/apis/storage.k8s.io/v1"
FORGET_S = 5.0
GOING_S = 1.0
"""A pod that we have told to go is marked as going, and most often gone a moment later: so long the mark waits."""


class Following:
    def __init__(
        self,
        api: Api,
        engine: Engine,
        readers: Mapping[str, PodReader],
        now: Callable[[], float],
        *,
        allocates: bool = True,
    ) -> None:
        """`readers`: by the scheduler's name that pods bear, how they are read; they share one view of volumes and
        devices. `allocates`: devices that pods claim are ours to find."""
        first = next(iter(readers.values()))
        for reader in readers.values():
            reader.storage, reader.devices, reader.allocates = first.storage, first.devices, allocates
        self._allocates, self._now = allocates, now
        self._forgot = 0.0  # when it was last asked which devices nobody asks for any more
        self._api = api
        self.engine, self.storage, self.devices = engine, first.storage, first.devices
        self.ledger = Ledger(engine, readers, now)
        self.objects = Objects(engine, self.ledger, readers, now)
        self._reflectors: list[Reflector] = []
        self._away: set[str] = set()  # collections that cannot be followed now
        self._going: dict[str, Mapping[str, Any]] = {}  # by uid: pods that are marked, and were told to go by us
        self.dirty_rows = asyncio.Event()
        self.synced = asyncio.Event()

    async def run(self) -> None:
        """Until cancelled, or until following the cluster is impossible."""
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
            objects.means_more = objects.claims_mean_more = False  # nobody was read before all this was known
            group.create_task(pods.run(), name="follow pods")
            await pods.synced.wait()
            _log.info("follows %d nodes and %d pods", len(first[0]), len(pods))
            self.synced.set()

    def labels_of(self, node: str) -> dict[str, str]:
        """As selectors see them, its name among them; none of a node that is gone."""
        cluster = self.engine.state.cluster
        row = cluster.rows.get(node)
        return {} if row is None else cluster.labels.row(row)

    def read_again(self) -> None:
        """Pods that wait are read again if what they mean may have changed, and nodes told that have other devices."""
        objects = self.objects
        if objects.means_more or objects.claims_mean_more:
            self.ledger.read_again(with_claims=not objects.means_more)
            objects.means_more = objects.claims_mean_more = False
        self.ledger.read_places_again(self.devices.take_dirty())
        objects.mark_nodes()

    def forget_devices(self) -> None:
        """What no pod asks for any more need not be looked at on every node."""
        if self.devices.wanted and self._now() > self._forgot + FORGET_S:
            self._forgot = self._now()
            self.devices.keep_only([known.meaning.devices_mark for known in self.ledger.waiting() if known.meaning])

    def _follow(self, path: str, handler: Handler) -> Reflector:
        def hear(changes: list[Change]) -> None:
            handler(changes)
            self.dirty_rows.set()

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
        """How often a watch broke, and was mended."""
        return sum(one.counts.troubles for one in self._reflectors)

    @property
    def relists(self) -> int:
        """How often a watch could not be taken up where it broke, and everything was listed anew."""
        return sum(max(0, one.counts.lists - 1) for one in self._reflectors)

    def _pods(self, changes: list[Change]) -> None:
        # What became of a pod on its way out does not matter where the same batch says that it is gone.
        gone = {change.object["metadata"]["uid"] for change in changes if change.kind is Kind.DELETED}
        for change in changes:
            about = change.object["metadata"]
            if change.kind is Kind.DELETED:
                self._going.pop(about["uid"], None)
                self.ledger.deleted((about["namespace"], about["name"]), about["uid"])
            elif about["uid"] in gone:
                continue
            elif self.ledger.goes_for_us(change.object):
                self._goes(about["uid"], change.object)
            else:
                self._going.pop(about["uid"], None)
                self.ledger.seen(change.object)

    def _goes(self, uid: str, pod: Mapping[str, Any]) -> None:
        if uid not in self._going:
            asyncio.get_running_loop().call_later(GOING_S, self._still_goes, uid)
        self._going[uid] = pod

    def _still_goes(self, uid: str) -> None:
        """It takes its time: whoever counts pods has to know that this one is on its way out."""
        pod = self._going.pop(uid, None)
        if pod is not None:
            self.ledger.seen(pod)
            self.dirty_rows.set()
