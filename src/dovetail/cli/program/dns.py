"""`dovetail dns`: the names of services, for every DNS client."""

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.parameters import Option
from dovetail.cli.terminal.server import Url, connect

if TYPE_CHECKING:
    from dovetail.client import Client
    from dovetail.discovery.dns.program import DnsProgram
    from dovetail.discovery.dns.settings import DnsSettings, SocketAddress

_COLLECTED_AFTER = 50_000, 20, 1_000  # hardly any garbage here has cycles, and queries wait for a collection
_TIMEOUT_S = 60.0  # longer than the server waits for a change


def command(
    listen: Annotated[str, Option(metavar="ADDRESS", help="Where it listens, UDP and TCP.")] = "127.0.0.1:5353",
    domain: Annotated[str, Option(metavar="NAME", help="Under which the names of services stand.")] = "dovetail",
    ttl: Annotated[str, Option(metavar="TIME", help="How long clients may keep an answer.")] = "5s",
    forward: Annotated[
        list[str], Option(metavar="ADDRESS", help="A resolver for other names; for this machine and nodes only.")
    ] = [],  # noqa: B006 - read only
    node: Annotated[
        str | None, Option(metavar="NODE", help="Where those are who ask from no node's address.", show_default=False)
    ] = None,
    data: Annotated[
        Path | None, Option(metavar="DIR", help="Where it keeps endpoints.  [default: ~/.local/share/dovetail-dns]")
    ] = None,
    metrics: Annotated[str | None, Option(metavar="ADDRESS", help="Where it shows metrics for Prometheus.")] = None,
    url: Url = None,
) -> None:
    """Answer DNS queries for the names of services: SERVICE.NAMESPACE.dovetail.

    It goes on answering while the server is away, and after a restart of its own. Ctrl-C stops it.
    """
    given = {"listen": listen, "domain": domain, "ttl": ttl, "forward": forward, "metrics": metrics}
    settings = _settings(given)
    folder = Path.home() / ".local/share/dovetail-dns" if data is None else data
    with connect(url, timeout_s=_TIMEOUT_S, told=False) as client:
        _run(settings, client, node, folder)


def _settings(given: Mapping[str, object]) -> "DnsSettings":
    from pydantic import ValidationError

    from dovetail.discovery.dns.settings import DnsSettings
    from dovetail.model.text.validation_errors import faults_in_words

    try:
        return DnsSettings.model_validate(given)
    except ValidationError as error:
        raise Failure(faults_in_words(error, DnsSettings), ExitCode.USAGE) from None


def _run(settings: "DnsSettings", client: "Client", node: str | None, folder: Path) -> None:
    import asyncio
    import gc
    import logging
    import sys

    from dovetail.cli.program.loop import fast_loop
    from dovetail.discovery.dns.program import DnsProgram
    from dovetail.discovery.dns.settings import parse_address

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    gc.set_threshold(*_COLLECTED_AFTER)
    sys.setswitchinterval(0.0001)  # queries do not wait for the thread that hears of changes

    async def live() -> None:
        program = DnsProgram(
            settings,
            lambda after, wait_s: asyncio.to_thread(client.endpoint_changes, after=after, wait_s=wait_s),
            lambda asking: asyncio.to_thread(client.distances_from, asking, endpoints=True),
            node=node,
            folder=folder,
        )
        if settings.metrics is not None:
            _show_metrics(program, parse_address(settings.metrics))
        running = asyncio.ensure_future(program.run(_say))
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, running.cancel)
        await asyncio.wait({running})
        if not running.cancelled() and (error := running.exception()) is not None:
            raise error

    runner = asyncio.Runner(loop_factory=fast_loop())
    try:
        runner.run(live())
    except OSError as error:
        words = f"cannot listen on {settings.listen}: {error.strerror or error}"
        raise Failure(f"{words}; choose another address with --listen, or stop what listens there") from None
    sys.stderr.flush()
    os._exit(0)  # a request that waits for changes would keep it for half a minute


def _say(address: "SocketAddress") -> None:
    import logging

    logging.getLogger(__name__).info("answers on %s port %d, UDP and TCP", address.host, address.port)


def _show_metrics(program: "DnsProgram", address: "SocketAddress") -> None:
    from dovetail.discovery.dns.metrics import show_metrics

    try:
        show_metrics(program, address)
    except OSError as error:
        words = f"cannot show metrics on {address.host} port {address.port}: {error.strerror or error}"
        raise Failure(f"{words}; choose another address with --metrics") from None
