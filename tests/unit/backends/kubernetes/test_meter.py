"""Measured use comes from the metrics API, in its own words, and where there is none nothing is said."""

import asyncio

from tests.unit.kubernetes_client.wire import said, serving

from dovetail.backends.kubernetes.upkeep import Meter
from dovetail.kubernetes_client.access import Access
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.credentials import Fixed

METRICS = {
    "kind": "NodeMetricsList",
    "metadata": {},
    "items": [
        {"metadata": {"name": "n1"}, "window": "10s", "usage": {"cpu": "156340213n", "memory": "1209144Ki"}},
        {"metadata": {"name": "10.0.0.7"}, "usage": {"cpu": "2"}},
    ],
}


def test_use_is_told_by_node_in_our_units() -> None:
    async def scene() -> None:
        async with serving(said(200, METRICS)) as server, Api(Access(f"http://{server.address}", Fixed())) as api:
            found = await Meter(api).measure()
            assert found["n1"] == {"cpu": 157, "memory": 1209144 * 1024}
            assert sorted(found) == ["10.0.0.7", "n1"]
            assert server.heads[0].startswith("GET /apis/metrics.k8s.io/v1beta1/nodes")

    asyncio.run(scene())


def test_a_cluster_that_does_not_measure_is_none_the_worse() -> None:
    async def scene() -> None:
        answers = said(404, {"code": 404, "reason": "NotFound"}), said(503, {"code": 503, "message": "away"})
        async with serving(*answers) as server, Api(Access(f"http://{server.address}", Fixed())) as api:
            meter = Meter(api)
            assert [await meter.measure(), await meter.measure()] == [{}, {}]

    asyncio.run(scene())
