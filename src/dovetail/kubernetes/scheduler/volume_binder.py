"""Binds or provisions the volumes of claims that wait for their pod's node, before the pod is bound.

An existing volume is bound to the claim by name; to provision one, the claim names the node. The cluster's volume
controller and its provisioners do the rest, and the pod is bound after them.

Guarantees: a volume that another claim got meanwhile is not taken from it. If a provisioner gives up, or nothing
happens for `PATIENCE_S`, the pod is pending again. A new leader continues where the last one stopped.
"""

import asyncio
import time
from collections.abc import Callable, Mapping

from dovetail.kubernetes.objects.storage import BOUND_BY_SCHEDULER, SELECTED_NODE, ClaimBinding, claim_names
from dovetail.kubernetes.scheduler.binder import BindingStep, OnBound, PodBinding
from dovetail.kubernetes.scheduler.cluster_informer import ClusterInformer
from dovetail.kubernetes_client.api import Api, JsonObject
from dovetail.kubernetes_client.errors import KubernetesApiError
from dovetail.kubernetes_client.objects import Json
from dovetail.kubernetes_client.paths import CORE, one

PATIENCE_S = 600.0
LOOK_S = 0.1


class VolumeBinder(BindingStep):
    def __init__(self, api: Api, cluster: ClusterInformer, go_on: Callable[[PodBinding], None], told: OnBound) -> None:
        """`go_on` binds the pod; `told` gets the reason if that is impossible."""
        super().__init__()
        self._api, self._cluster, self._go_on, self._told = api, cluster, go_on, told

    def put(self, order: PodBinding, pod: Json | None) -> None:
        """Takes a pod that has been given a node."""
        found: list[ClaimBinding] | None = []
        if pod is not None and claim_names(pod):
            found = self._cluster.storage.bindings(pod, self._cluster.questions.nodes.labels(order.node))
        if found is None:
            self._told(order, f"no volume is left on {order.node} for a claim of it")
        elif not found:
            self._go_on(order)
        else:
            self._start(order, self._first(order, found))

    async def _first(self, order: PodBinding, claims: list[ClaimBinding]) -> None:
        try:
            asked = {claim: 0 if claim.asked else await self._ask(claim, order.node) for claim in claims}
        except KubernetesApiError as error:
            self._told(order, str(error))
            return
        why_not = await self._come_about(order, asked)
        if why_not:
            self._told(order, why_not)
        else:
            self._go_on(order)

    async def _ask(self, claim: ClaimBinding, node: str) -> int:
        """Writes the request to the volume or the claim; returns its new version."""
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

    async def _come_about(self, order: PodBinding, asked: Mapping[ClaimBinding, int]) -> str:
        """Why the claims are not bound; empty: all of them are."""
        due = time.monotonic() + PATIENCE_S
        storage = self._cluster.storage
        while order.id in self._cluster.tracker.by_id:
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
