"""The part of an agent that measures: asks the control plane whom to probe, does it, and reports what it found.

It opens a port only once the control plane has named peers, or wants the node to be probed. Trouble here never stops
the agent: results of a round that cannot be reported are dropped, as the next round measures the same again.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Annotated

from pydantic import Field

from dovetail.agent.identity import own_address
from dovetail.agent.probing.prober import ProbeRound
from dovetail.agent.probing.prober_socket import ProberSocket
from dovetail.client import Client, ConnectError, DovetailError
from dovetail.model.text.strict import Host, Strict
from dovetail.responses.probes import ProbeOrders, ProbeReport

NOT_THERE_S = 300.0  # an older control plane knows nothing of probes
TROUBLE_S = 10.0
_NO_SUCH_ROUTE = (404, 405)

_log = logging.getLogger(__name__)


class ProbeSettings(Strict):
    enabled: bool = True
    """Measure the network between this node and others, and answer their probes."""
    address: Host | None = None
    """The IP address that listens for probes; by default the one from which the agent reaches the server."""
    port: Annotated[int, Field(ge=0, le=65535)] = 0
    """The UDP port that listens for probes; 0 takes a free one."""


class Probing:
    """`client`: asked for when there is one."""

    def __init__(self, node: str, settings: ProbeSettings, client: Callable[[], Client]) -> None:
        self._node, self._settings, self._client = node, settings, client
        self._socket: ProberSocket | None = None
        self._report: ProbeReport = {"address": None, "port": None, "results": [], "trains": []}

    async def run(self) -> None:
        """Until cancelled."""
        if not self._settings.enabled:
            return
        try:
            while True:
                pause_s = await self._once()
                await asyncio.sleep(pause_s)
        finally:
            self._close()

    async def _once(self) -> float:
        """Ask, and do what the answer says. Returns how long to wait before the next time."""
        try:
            orders = await asyncio.to_thread(self._client().report_probes, self._node, self._report)
        except DovetailError as error:
            return NOT_THERE_S if error.status in _NO_SUCH_ROUTE else TROUBLE_S
        except ConnectError:
            return TROUBLE_S
        finally:
            self._report = {**self._report, "results": [], "trains": []}
        try:
            await self._open(orders)
        except OSError as error:
            _log.warning("cannot listen for probes on %s: %s; see `probes` of its settings", self._where(), error)
            return NOT_THERE_S
        if self._socket is None or not (orders["peers"] or orders["trains"]):
            return orders["again_s"]
        began = time.monotonic()
        await self._measure(orders, self._socket)
        return max(orders["again_s"] - (time.monotonic() - began), 0.0)

    async def _open(self, orders: ProbeOrders) -> None:
        """Listen where the control plane wants that, and tell it where. Raises OSError."""
        if not orders["keys"]:
            self._close()
            return
        if self._socket is None:
            address = self._where()
            if address is None:
                raise OSError("no address of this machine reaches the server")
            self._socket = ProberSocket(address, self._settings.port)
            _log.info("listens for probes on %s, UDP port %d", address, self._socket.port)
            self._report = {**self._report, "address": address, "port": self._socket.port}
        self._socket.keys = {one["epoch"]: bytes.fromhex(one["key"]) for one in orders["keys"]}

    def _where(self) -> str | None:
        return self._settings.address or own_address(self._client().url)

    async def _measure(self, orders: ProbeOrders, endpoint: ProberSocket) -> None:
        this_round = ProbeRound(self._node, endpoint)
        probing = asyncio.ensure_future(this_round.probe(orders["peers"], orders["packets"], orders["again_s"]))
        trains = await asyncio.gather(*(this_round.train(one) for one in orders["trains"]))
        results = await probing
        found = [train for train in trains if train is not None]
        self._report = {**self._report, "results": results, "trains": found}

    def _close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
            self._report = {**self._report, "address": None, "port": None}
