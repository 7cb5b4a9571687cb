"""The whole DNS server: a copy of the endpoints, the answers from it, the sockets, and who asks.

Guarantees: it answers from what it knows, however long the control plane is away. A query that comes before anything is
known waits for a moment. Distances are asked for when a node first asks, and again every few seconds.
"""

import asyncio
import contextlib
import ipaddress
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

from dovetail.discovery.dns.answers import NOBODY, Answers
from dovetail.discovery.dns.forwarding import DnsForwarder
from dovetail.discovery.dns.server import Askers, DnsServer
from dovetail.discovery.dns.settings import DnsSettings, SocketAddress, parse_address
from dovetail.discovery.endpoint import ServiceKey
from dovetail.discovery.follower import AskChanges, EndpointFollower
from dovetail.discovery.mirror import EndpointMirror

REFRESH_S = 10.0  # how old distances may be
DISTANCES_WITHIN_S = 0.5  # how long the first query of a node waits for them
ASK_AGAIN_S = 1.0  # after the server did not answer
MOST_ASKERS = 50_000  # addresses that are remembered

_log = logging.getLogger(__name__)

#: The distances from a node to those with endpoints. May raise anything.
AskDistances = Callable[[str], Awaitable[dict[str, float]]]


class DnsProgram:
    """`node`: the node of clients whose address belongs to no known node; None: such clients get the endpoints in turn.
    `local`: all clients are on `node`. `folder`: where the last known endpoints are kept."""

    def __init__(
        self,
        settings: DnsSettings,
        ask: AskChanges,
        ask_distances: AskDistances,
        *,
        node: str | None = None,
        local: bool = False,
        folder: Path | None = None,
    ) -> None:
        self._settings, self._ask_distances = settings, ask_distances
        self._home, self._local = node or NOBODY, local
        self._mirror = EndpointMirror()
        resolvers = [parse_address(one) for one in settings.forward]
        ttl_s, most = round(settings.ttl), settings.most_addresses
        self.answers = Answers(self._mirror, settings.domain, ttl_s, most, forwards=bool(resolvers))
        self.follower = EndpointFollower(self._mirror, ask, self._changed, folder)
        self.forwarder = DnsForwarder(resolvers)
        self._askers = Askers(self._find_group, self._may_forward)
        self.server = DnsServer(self.answers, self._askers, self.forwarder)
        self._node_of: dict[str, str] = {}  # by address, where only one node has it
        self._nodes_at: set[str] = set()  # addresses
        self._fetching: dict[str, asyncio.Task[bool]] = {}
        self._unknown = asyncio.Event()  # an endpoint is on a node whose distance nobody asked for

    async def run(self, listens: Callable[[SocketAddress], None] = lambda _: None) -> None:
        """Until cancelled. Raises OSError if it cannot listen. `listens` is told where it does."""
        listens(await self.server.start(parse_address(self._settings.listen)))
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.follower.run())
                group.create_task(self._refresh_distances())
        finally:
            await self.server.close()
            for task in self._fetching.values():
                task.cancel()
            self.follower.write()

    @property
    def endpoints(self) -> int:
        return len(self._mirror)

    # --- changes -----------------------------------------------------------------------------------------------------

    def _changed(self, services: set[ServiceKey], names: bool, nodes: bool) -> None:
        self.answers.changed(services, names=names)
        if nodes:
            self._node_of, self._nodes_at = _alone(self._mirror.nodes), set(self._mirror.nodes.values())
            self._askers.groups.clear()
            for group in self.answers.asking():
                if group not in self._mirror.nodes and group != self._home:
                    self.answers.forget_distances(group)
        self._unknown.set()

    # --- who asks ----------------------------------------------------------------------------------------------------

    async def _find_group(self, address: str) -> str | None:
        """The node that asks. The first query of a node waits until distances are there, but not for long."""
        if not self.follower.known.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DISTANCES_WITHIN_S):
                    await self.follower.known.wait()
            if not self.follower.known.is_set():
                return None
        group = self._home if self._local else self._node_of.get(_plain(address), self._home)
        if group != NOBODY and group not in self.answers.asking():
            fetching = self._fetch(group)
            await asyncio.wait({fetching}, timeout=DISTANCES_WITHIN_S)
            if not fetching.done():
                return NOBODY  # and not remembered: the next query may find them
            if group not in self.answers.asking():
                group = NOBODY  # for a moment: the server is away, and not every query can wait for it
                asyncio.get_running_loop().call_later(ASK_AGAIN_S, self._askers.groups.pop, address, None)
        if len(self._askers.groups) >= MOST_ASKERS:
            self._askers.groups.clear()
        self._askers.groups[address] = group
        return group

    def _may_forward(self, address: str) -> bool:
        """Others would use it as an open resolver."""
        plain = _plain(address)
        return plain in self._nodes_at or ipaddress.ip_address(plain).is_loopback

    # --- distances ---------------------------------------------------------------------------------------------------

    def _fetch(self, node: str) -> "asyncio.Task[bool]":
        found = self._fetching.get(node)
        if found is None:
            found = self._fetching[node] = asyncio.create_task(self._fetched(node))
            found.add_done_callback(lambda _: self._fetching.pop(node, None))
        return found

    async def _fetched(self, node: str) -> bool:
        try:
            self.answers.set_distances(node, await self._ask_distances(node))
        except Exception as error:  # of a client that this module does not know
            _log.info("no distances from node %s now: %s", node, error)
            return False
        return True

    async def _refresh_distances(self) -> None:
        """Of the nodes that asked; at once if an endpoint is on a node of which they know nothing."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(REFRESH_S):
                    while not self._lacks_distances():
                        self._unknown.clear()
                        await self._unknown.wait()
                        await asyncio.sleep(DISTANCES_WITHIN_S / 2)  # looking at all endpoints takes time
            for node in self.answers.asking():
                await self._fetch(node)
            await asyncio.sleep(DISTANCES_WITHIN_S)

    def _lacks_distances(self) -> bool:
        asking = self.answers.asking()
        nodes = {one.node for one in self._mirror.endpoints()} if asking else set()
        return any(nodes - self.answers.reached_from(group) for group in asking)


def _plain(address: str) -> str:
    """Of IPv4 askers of an IPv6 socket, and without the zone of link-local ones."""
    return address.partition("%")[0].removeprefix("::ffff:")


def _alone(nodes: dict[str, str]) -> dict[str, str]:
    """By address, the node; addresses that several nodes share say nothing."""
    found: dict[str, str] = {}
    shared: set[str] = set()
    for name, address in nodes.items():
        if address in found:
            shared.add(address)
        found[address] = name
    return {address: name for address, name in found.items() if address not in shared}
