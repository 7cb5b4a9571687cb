"""Allocates devices to the claims of a pod that has a node, before the pod is bound.

Guarantees: devices count as allocated from the moment their pod has a node, even while the outcome of a write is
unknown: a lost answer is looked up until there is one. A claim that was changed by others meanwhile is left as it is,
and the pod is pending again. A pod that fits nowhere gives back devices that only it uses, since it may fit elsewhere
without them.
Left to others: freeing claims of finished pods (the cluster's resource claim controller). The API does not keep two
schedulers from allocating one device twice: only one scheduler should serve a driver's devices.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from dovetail.asyncio_tasks import cancel
from dovetail.kubernetes.devices.claims import Allotment, DeviceClaims, claims_devices
from dovetail.kubernetes.devices.device import Unallocatable
from dovetail.kubernetes.scheduler.binder import FIRST_PAUSE_S, LONGEST_PAUSE_S, BindingStep, OnBound, PodBinding
from dovetail.kubernetes_client.api import Api, JsonObject
from dovetail.kubernetes_client.errors import RETRIABLE, KubernetesApiError, ObjectConflict
from dovetail.kubernetes_client.objects import Json, namespaced_name
from dovetail.kubernetes_client.paths import DEVICES, one
from dovetail.model.backoff import Backoff

_log = logging.getLogger(__name__)

#: Keeps a claim from being deleted while it has devices; who frees them takes it off.
FINALIZER = "resource.kubernetes.io/delete-protection"


class Taken(Exception):
    """The claim changed after its devices were chosen."""


class DeviceBinder(BindingStep):
    def __init__(
        self, api: Api, claims: DeviceClaims, go_on: Callable[[PodBinding, Json | None], None], told: OnBound
    ) -> None:
        """`go_on` takes the next step towards binding the pod; `told` gets the reason if that is impossible."""
        super().__init__()
        self._api, self._claims, self._go_on, self._told = api, claims, go_on, told
        self._given_back: set[asyncio.Task[None]] = set()

    def put(self, order: PodBinding, pod: Json | None) -> None:
        """Takes a pod that has been given a node."""
        if pod is None or not claims_devices(pod):
            self._go_on(order, pod)
            return
        try:
            allotments = self._claims.allot(pod, order.node)
        except Unallocatable as error:
            self._told(order, str(error))
            return
        self._claims.assume(allotments)
        self._start(order, self._give(order, pod, allotments))

    def give_back(self, pod: Json) -> None:
        """The pod fits nowhere with the devices that its claims have."""
        for claim in self._claims.idle(pod) if claims_devices(pod) else ():
            task = asyncio.create_task(self._free(claim), name="give devices back")
            self._given_back.add(task)
            task.add_done_callback(self._given_back.discard)

    async def close(self) -> None:
        await super().close()
        await cancel(*self._given_back)

    async def _give(self, order: PodBinding, pod: Json, allotments: list[Allotment]) -> None:
        try:
            for allotment in allotments:
                self._claims.set_claim(await self._write(allotment, pod))
        except (KubernetesApiError, Taken) as error:
            self._told(order, str(error))
        else:
            self._go_on(order, pod)
        finally:
            self._claims.give_up(allotments)

    async def _write(self, allotment: Allotment, pod: Json) -> Json:
        """Writes the allocation and the pod as a user of the claim; returns the claim as the API has it then."""
        claim: Json = allotment.claim
        backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
        while True:
            try:
                if claim["metadata"]["uid"] != allotment.claim["metadata"]["uid"]:
                    raise Taken(f"its resource claim {claim['metadata']['name']} is another than it was")
                return await self._written(claim, allotment.allocation, pod)
            except (ObjectConflict, *RETRIABLE) as error:
                _log.info("devices for claim %s/%s: %s", *namespaced_name(claim), error)
            await asyncio.sleep(backoff.next_s())
            with suppress(*RETRIABLE):
                claim = await self._api.get(_path(claim))

    async def _written(self, claim: Json, allocation: Json | None, pod: Json) -> Json:
        about, status = claim["metadata"], dict(claim.get("status") or {})
        if about.get("deletionTimestamp"):
            raise Taken(f"its resource claim {about['name']} is being deleted")
        if _are_the_same(allocation, status.get("allocation")):
            allocation = None  # it was ourselves, and the answer was lost
        if allocation is not None and status.get("allocation") is not None:
            raise Taken(f"its resource claim {about['name']} was given devices by another scheduler")
        if allocation is None and status.get("allocation") is None:
            raise Taken(f"its resource claim {about['name']} has lost its devices")
        if allocation is not None:
            if FINALIZER not in (about.get("finalizers") or ()):
                kept = {**about, "finalizers": [*(about.get("finalizers") or ()), FINALIZER]}
                claim = await self._api.replace(_path(claim), {**claim, "metadata": kept})
                status = dict(claim.get("status") or {})
            status["allocation"] = allocation
        users = status.get("reservedFor") or []
        if all(user["uid"] != pod["metadata"]["uid"] for user in users):
            user = {"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
            status["reservedFor"] = [*users, user]
        elif allocation is None:
            return claim
        return await self._api.replace(f"{_path(claim)}/status", {**claim, "status": status})

    async def _free(self, claim: Json) -> None:
        status = {name: value for name, value in (claim.get("status") or {}).items() if name not in _OF_USE}
        body: JsonObject = {**claim, "status": status}
        try:
            self._claims.set_claim(await self._api.replace(f"{_path(claim)}/status", body))
        except KubernetesApiError as error:  # it was changed, perhaps by a new user of it
            _log.info("devices of claim %s/%s are not given back: %s", *namespaced_name(claim), error)


_OF_USE = ("allocation", "reservedFor", "devices")


def _are_the_same(one: Json | None, other: Json | None) -> bool:
    """Do two allocations name the same devices?"""
    if one is None or other is None:
        return False
    given, its = ([_result(each) for each in found["devices"].get("results") or ()] for found in (one, other))
    return given == its


def _result(result: Json) -> list[Any]:
    return [result.get(name) for name in ("request", "driver", "pool", "device")]


def _path(claim: Json) -> str:
    namespace, name = namespaced_name(claim)
    return one(DEVICES, "resourceclaims", name, namespace)
