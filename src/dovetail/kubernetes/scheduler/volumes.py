"""Claims that wait for their pod's node get their volumes before the pod is bound: kept for them, or made there.

A volume that is there is given to the claim by name; for one that has to be made the claim says on which node. Both
come about by others' hands, the cluster's volume controller and its provisioners, and only then the pod goes on.

Guarantees: a volume that was given to another meanwhile is not taken from it. When a provisioner gives up, or nothing
comes about for `PATIENCE_S`, the pod waits again; a scheduler that takes over goes on where the last one was.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from dovetail.kubernetes.claim_binding import ClaimBinding
from dovetail.kubernetes.client.api import Api, JsonObject
from dovetail.kubernetes.client.errors import ApiError
from dovetail.kubernetes.client.paths import CORE, one
from dovetail.kubernetes.scheduler.binding import Binding, Bound
from dovetail.kubernetes.scheduler.following import Following
from dovetail.kubernetes.storage import BOUND_BY_SCHEDULER, SELECTED_NODE, claim_names

Json = Mapping[str, Any]

PATIENCE_S = 600.0
LOOK_S = 0.1


class Volumes:
    def __init__(self, api: Api, cluster: Following, go_on: Callable[[Binding], None], told: Bound) -> None:
        """`go_on` binds the pod, `told` hears why it cannot be."""
        self._api, self._cluster, self._go_on, self._told = api, cluster, go_on, told
        self._tasks: dict[int, asyncio.Task[None]] = {}

    @property
    def waited_for(self) -> Collection[int]:
        """Workloads whose pods have a node and wait for volumes there."""
        return self._tasks.keys()

    def put(self, order: Binding, pod: Json | None) -> None:
        """A pod that has a node now."""
        found: list[ClaimBinding] | None = []
        if pod is not None and claim_names(pod):
            found = self._cluster.storage.bindings(pod, self._cluster.labels_of(order.node))
        if found is None:
            self._told(order, f"no volume is left on {order.node} for a claim of it")
        elif not found:
            self._go_on(order)
        else:
            task = self._tasks[order.id] = asyncio.create_task(self._first(order, found), name="volumes")
            task.add_done_callback(lambda _: self._tasks.pop(order.id, None))

    async def close(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _first(self, order: Binding, claims: list[ClaimBinding]) -> None:
        try:
            asked = {claim: 0 if claim.asked else await self._ask(claim, order.node) for claim in claims}
        except ApiError as error:
            self._told(order, str(error))
            return
        why_not = await self._come_about(order, asked)
        if why_not:
            self._told(order, why_not)
        else:
            self._go_on(order)

    async def _ask(self, claim: ClaimBinding, node: str) -> int:
        """The version of the volume or the claim that says so."""
        if not claim.volume:
            path = one(CORE, "persistentvolumeclaims", claim.claim, claim.namespace)
            body: JsonObject = {"metadata": {"annotations": {SELECTED_NODE: node}, "uid": claim.uid}}
        else:
            reference = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": claim.namespace}
            reference |= {"name": claim.claim, "uid": claim.uid}
            # With the version that was read: it is a Conflict if the volume has changed since, such as by being taken.
            about = {"resourceVersion": claim.volume_version, "annotations": {BOUND_BY_SCHEDULER: "yes"}}
            path = one(CORE, "persistentvolumes", claim.volume)
            body = {"metadata": about, "spec": {"claimRef": reference}}
        return int((await self._api.patch(path, body))["metadata"]["resourceVersion"])

    async def _come_about(self, order: Binding, asked: Mapping[ClaimBinding, int]) -> str:
        """Why not; empty: all of them are bound."""
        due = time.monotonic() + PATIENCE_S
        storage = self._cluster.storage
        while order.id in self._cluster.ledger.by_id:
            stand = {claim: storage.has_come_about(claim, order.node, since) for claim, since in asked.items()}
            if all(stand.values()):
                return ""
            for claim, stands in stand.items():
                if stands is None:
                    return f"its claim {claim.claim} got no volume on {order.node}: what was asked for was taken back"
            if time.monotonic() > due:
                return f"its claims got no volumes on {order.node} in {PATIENCE_S:.0f} s"
            await asyncio.sleep(LOOK_S)
        return "the pod is gone"
