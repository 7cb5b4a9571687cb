"""A real server whose endpoints change all the time, for the benchmark of DNS. Only the changes are made up: no machine
here could start and stop a thousand replicas a second.

    python -m benchmarks.discovery_feed FOLDER PORT SERVICES REPLICAS CHANGES_A_SECOND
"""

import asyncio
import contextlib
import random
import sys
import time
from typing import Any

import uvicorn

from dovetail.api.app import create_app
from dovetail.control.plane import ControlPlane
from dovetail.control.services.discovery import ENDPOINT, NODE, SERVICE, DiscoveryService, TableKey
from dovetail.control.settings import Settings
from dovetail.discovery.change_table import ChangeTable, TableChanges
from dovetail.discovery.endpoint import DiscoveredService, Endpoint

EVERY_S = 0.02
NODES = 500


class ChangingEndpoints(DiscoveryService):
    """Every service has `replicas` endpoints, of which a few are away at any time."""

    def __init__(self, plane: ControlPlane, services: int, replicas: int) -> None:
        super().__init__(plane.subsystems.shared("services"), plane.questions.network)
        self._table: ChangeTable[TableKey, Any] = ChangeTable(time.time_ns() // 1000)
        self._random = random.Random(7)
        self._all = [_endpoint(service, index, replicas) for service in range(services) for index in range(replicas)]
        self._away: list[Endpoint] = []
        for number in range(NODES):
            self._table.put((NODE, f"n{number}"), _address(number))
        for number in range(services):
            service = DiscoveredService("default", f"s{number}", replicas, {"http": "tcp"})
            self._table.put((SERVICE, service.key), service)
        for one in self._all:
            self._table.put((ENDPOINT, one.workload), one)

    async def change_for_ever(self, changes_a_second: int) -> None:
        began, done = time.monotonic(), 0
        while True:
            await asyncio.sleep(EVERY_S)
            due = int((time.monotonic() - began) * changes_a_second)
            for _ in range(due - done):
                self._change()
            done = due
            self._wake()

    def _change(self) -> None:
        if len(self._away) > len(self._all) // 20:
            back = self._away.pop(0)
            self._table.put((ENDPOINT, back.workload), back)
            return
        one = self._random.choice(self._all)
        if self._table.drop((ENDPOINT, one.workload)):
            self._away.append(one)

    async def changes(self, after: int, wait_s: float) -> TableChanges[TableKey, Any]:
        if self._table.version == after:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._changed.wait()
        return self._table.after(after)

    def show(self, *_: Any) -> None:
        """There are no others."""


def _address(node: int) -> str:
    return f"10.1.{node // 250}.{node % 250 + 1}"


def _endpoint(service: int, index: int, replicas: int) -> Endpoint:
    number = service * replicas + index
    node = number * 7 % NODES
    ports = {"http": 20_000 + number % 10_000}
    return Endpoint("default", f"s{service}", index, 1, number + 1, f"n{node}", _address(node), ports)


async def serve(folder: str, port: int, services: int, replicas: int, changes_a_second: int) -> None:
    plane = ControlPlane(Settings.model_validate({"data": folder, "backends": {}}))
    plane.discovery = endpoints = ChangingEndpoints(plane, services, replicas)
    server = uvicorn.Server(uvicorn.Config(create_app(plane), port=port, log_level="error"))
    await asyncio.gather(server.serve(), endpoints.change_for_ever(changes_a_second))


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], *map(int, sys.argv[2:])))
