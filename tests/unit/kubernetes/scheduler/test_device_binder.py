"""Devices are given once, also where the answer of the server is lost."""

import asyncio
from typing import Any

from tests.unit.kubernetes.devices.offers import claim, device, device_class, request, selects, slice_
from tests.unit.kubernetes_client.wire import said, serving

from dovetail.kubernetes.devices.claims import DeviceClaims
from dovetail.kubernetes.scheduler.binder import PodBinding
from dovetail.kubernetes.scheduler.device_binder import FINALIZER, DeviceBinder
from dovetail.kubernetes_client.access import Access
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.credentials import Fixed

Json = dict[str, Any]
TROUBLE = said(500, {"code": 500, "reason": "InternalError", "message": "etcdserver: request timed out"})
POD: Json = {
    "metadata": {"namespace": "default", "name": "a", "uid": "uid-a"},
    "spec": {"resourceClaims": [{"name": "c", "resourceClaimName": "c"}]},
}
OTHER = {
    **POD,
    "metadata": {**POD["metadata"], "name": "b"},
    "spec": {"resourceClaims": [{"name": "d", "resourceClaimName": "d"}]},
}


def stored(name: str, version: str, **status: Any) -> Json:
    about = {"namespace": "default", "name": name, "uid": f"uid-{name}", "resourceVersion": version}
    return {**claim(request(), name=name), "metadata": {**about, "finalizers": [FINALIZER]}, "status": status}


def test_devices_whose_giving_was_answered_with_trouble_stay_given_until_it_is_known() -> None:
    claims = DeviceClaims(selects)
    claims.set_class(device_class())
    claims.inventory.set_node("n1", {})
    claims.inventory.set_slice(slice_("s", device("d0")))
    for name in "cd":
        claims.set_claim(stored(name, "1"))
    (given,) = claims.allot(POD, "n1")
    user = {"resource": "pods", "name": "a", "uid": "uid-a"}
    after = stored("c", "2", allocation=given.allocation, reservedFor=[user])
    went_on, told = [], []

    async def scene() -> None:
        # It was carried out, though the server said that it could not.
        async with (
            serving(TROUBLE, said(200, after)) as server,
            Api(Access(f"http://{server.address}", Fixed())) as api,
        ):
            giving = DeviceBinder(api, claims, lambda order, _: went_on.append(order), lambda _, why: told.append(why))
            giving.put(PodBinding(1, "default", "a", "uid-a", "n1", "1.0.1"), POD)
            ask = claims.ask_of(OTHER)
            assert ask is not None
            while not (went_on or told):
                assert ask.marked not in claims.marks("n1"), "it is as good as given"
                await asyncio.sleep(0.01)
            assert len(server.heads) == 2, "it is written once, and then looked up"
            await giving.close()

    asyncio.run(scene())
    assert (len(went_on), told) == (1, [])
    ask = claims.ask_of(OTHER)
    assert ask is not None
    assert ask.marked not in claims.marks("n1")
