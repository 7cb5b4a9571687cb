"""An extender of kube-scheduler that only listens: it is told which nodes passed all filters, and lets none of them by.

So a stock kube-scheduler says of every pod exactly which nodes will do, and nothing is ever bound: any number of pods
is judged against the same state, and none of them is in another's way.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
from aiohttp import web
from tests.servers.daemon import free_ports

WORDS = "heard by the test"
"""What is said of nodes that passed all filters."""


class Listener:
    """`heard`: by uid of a pod, the nodes that kube-scheduler would choose from. A pod that no node will do for is
    never asked about."""

    def __init__(self, port: int) -> None:
        self.heard: dict[str, frozenset[str]] = {}
        self.url = f"http://127.0.0.1:{port}"

    def config(self) -> list[dict[str, Any]]:
        """The `extenders` of a KubeSchedulerConfiguration."""
        return [{"urlPrefix": self.url, "filterVerb": "filter", "nodeCacheCapable": True, "httpTimeout": "30s"}]

    async def filter(self, request: web.Request) -> web.Response:
        asked = {key.lower(): value for key, value in orjson.loads(await request.read()).items()}
        nodes = asked["nodenames"] or []
        self.heard[asked["pod"]["metadata"]["uid"]] = frozenset(nodes)
        # Such that it does not look whether anybody had to go for the pod: as if it had been bound.
        answer = {"nodeNames": [], "failedAndUnresolvableNodes": dict.fromkeys(nodes, WORDS)}
        return web.Response(body=orjson.dumps(answer), content_type="application/json")


@asynccontextmanager
async def listener() -> AsyncIterator[Listener]:
    (port,) = free_ports(1)
    found = Listener(port)
    app = web.Application()
    app.router.add_post("/filter", found.filter)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        yield found
    finally:
        await runner.cleanup()
