"""The names of services on the machine of an agent: the DNS server, inside the agent's process.

It asks with the token of the node, which reads the endpoints and the distances of its own node. Whatever happens to it,
the agent goes on.
"""

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from dovetail.client import Client

if TYPE_CHECKING:
    from dovetail.discovery.dns.settings import DnsSettings

AGAIN_AFTER_S = 10.0

_log = logging.getLogger(__name__)


async def serve_names(settings: "DnsSettings", client: Client, node: str, folder: Path) -> None:
    """Until cancelled."""
    from dovetail.discovery.dns.metrics import show_metrics  # most agents have no use for it
    from dovetail.discovery.dns.program import DnsProgram
    from dovetail.discovery.dns.settings import parse_address

    program = DnsProgram(
        settings,
        lambda after, wait_s: asyncio.to_thread(client.endpoint_changes, after=after, wait_s=wait_s),
        lambda asking: asyncio.to_thread(client.distances_from, asking, endpoints=True),
        node=node,
        local=True,
        folder=folder,
    )
    try:
        if settings.metrics is not None:
            show_metrics(program, parse_address(settings.metrics))
    except OSError as error:
        _log.error("no metrics of DNS on %s: %s", settings.metrics, error.strerror or error)
    while True:
        try:
            await program.run()
        except OSError as error:
            words = "the names of services are not served, tries again"
            _log.error("%s: cannot listen on %s: %s", words, settings.listen, error.strerror or error)
            await asyncio.sleep(AGAIN_AFTER_S)
