"""The web server of the webhooks.

Guarantees: it listens from the start, so an address in use is reported at once, and answers 503 until the cluster is
known. It keeps idle connections open longer than kube-scheduler does, so it never closes one just as a request is sent.
"""

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from ssl import SSLContext

import uvicorn

from dovetail.kubernetes.extender.app import create_app
from dovetail.kubernetes.extender.certificates import Certificates
from dovetail.kubernetes.extender.extender import Extender

_KEEP_ALIVE_S = 120  # of Go's usual 90 seconds
_FINISH_WITHIN_S = 2
_BACKLOG = 1024


class _Server(uvicorn.Server):
    """The caller handles signals."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def listen(host: str, port: int) -> socket.socket:
    """Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Said to be TCP, or asyncio does not tell the kernel to send answers at once: each would take 40 ms longer.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(_BACKLOG)
    except OSError:
        found.close()
        raise
    return found


async def serve(extender: Extender, listener: socket.socket, certificates: Certificates | None) -> None:
    """Until cancelled, or until following the cluster is impossible. None: plain HTTP."""
    server = _server(extender, None if certificates is None else certificates.context)
    async with asyncio.TaskGroup() as group:
        web = group.create_task(server.serve(sockets=[listener]), name="serve")
        working = [group.create_task(extender.run(), name="extend")]
        if certificates is not None:
            working.append(group.create_task(certificates.follow(), name="certificates"))
        try:
            await web
        finally:
            server.should_exit = True
            for task in working:
                task.cancel()


def _server(extender: Extender, context: SSLContext | None) -> _Server:
    config = uvicorn.Config(
        create_app(extender),
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_FINISH_WITHIN_S,
    )
    config.load()
    config.ssl = context
    return _Server(config)
