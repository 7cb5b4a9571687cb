"""`dovetail agent`: this machine as a node of a control plane elsewhere."""

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dovetail.cli.terminal.failure import Failure
from dovetail.cli.terminal.parameters import Option

if TYPE_CHECKING:
    import asyncio

    from dovetail.agent.identity import JoinRequest
    from dovetail.agent.settings import AgentSettings


def command(
    join: Annotated[str | None, Option(metavar="URL", help="The server to join; needed once.")] = None,
    token: Annotated[
        str | None, Option(metavar="TOKEN", help="A join token; better in $DOVETAIL_TOKEN: others see options.")
    ] = None,
    fingerprint: Annotated[
        str | None, Option(metavar="SHA256", help="Of the server's certificate, as it prints it at its start.")
    ] = None,
    name: Annotated[str | None, Option(metavar="NAME", help="Of the node.  [default: the name of this host]")] = None,
    data: Annotated[
        Path | None, Option(metavar="DIR", help="Where everything is kept.  [default: ~/.local/share/dovetail-agent]")
    ] = None,
    config: Annotated[Path | None, Option("--config", "-c", metavar="FILE", help="Settings of the agent.")] = None,
) -> None:
    """Run work on this machine for a control plane elsewhere.

    Ctrl-C stops the agent; running work goes on, and the next start finds it again.
    """
    settings = _settings(config, name, data)
    joining = _joining(join, token, fingerprint)
    _run(settings, joining)


def _settings(config: Path | None, name: str | None, data: Path | None) -> "AgentSettings":
    """A machine that has joined keeps the name that it joined with, unless it is told another."""
    from dovetail.agent.identity import CannotJoin, known_identity
    from dovetail.agent.settings import read_settings
    from dovetail.model.text.complaint import Invalid

    try:
        found = read_settings(config, name, data)
        known = known_identity(found.data) if found.local.node is None else None
    except (Invalid, OSError, CannotJoin) as error:
        raise Failure(str(error)) from None
    return found if known is None else found.with_name(known.node)


def _joining(url: str | None, token: str | None, fingerprint: str | None) -> "JoinRequest | None":
    from dovetail.agent.identity import JoinRequest
    from dovetail.client.transport.credentials import credentials_for
    from dovetail.client.transport.transport import checked_url

    if url is None:
        return None
    try:
        address = checked_url(url)
        given = token or credentials_for(address).token
    except ValueError as error:
        raise Failure(str(error)) from None
    if given is None:
        raise Failure("a join token is needed: dovetail token join on the server's machine makes one; then --token")
    return JoinRequest(address, given, fingerprint)


async def _first_of(*parts: "asyncio.Future[None]") -> None:
    import asyncio

    await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)


def _run(settings: "AgentSettings", joining: "JoinRequest | None") -> None:
    import asyncio
    import logging
    import sys

    from dovetail.agent.agent import Agent
    from dovetail.agent.identity import CannotJoin
    from dovetail.cli.program.loop import fast_loop

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)

    async def live() -> None:
        agent = Agent(settings)
        running = asyncio.ensure_future(agent.run(joining))
        signals: asyncio.Queue[None] = asyncio.Queue()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, signals.put_nowait, None)
        await _first_of(running, asyncio.ensure_future(signals.get()))
        if not running.done() and settings.drain_on_stop:
            logging.getLogger(__name__).info("the node drains; tell it once more to stop without waiting for that")
            await _first_of(running, asyncio.ensure_future(agent.drain()), asyncio.ensure_future(signals.get()))
        if not running.done():
            running.cancel()
        await asyncio.wait({running})
        if not running.cancelled() and (error := running.exception()) is not None:
            raise error

    runner = asyncio.Runner(loop_factory=fast_loop())
    try:
        runner.run(live())
    except CannotJoin as error:
        raise Failure(str(error)) from None
    sys.stderr.flush()
    os._exit(0)  # a request that waits for orders would keep it for half a minute
