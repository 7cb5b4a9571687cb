"""Running a control plane with its API in this process, until a signal ends it.

Guarantees: the socket is bound before anything starts, so a port in use is reported at once, and the announced address
is the real one, also for port 0. SIGINT and SIGTERM stop it in order: no new requests, then the plane, then the store;
a second signal does not wait for requests. Running tasks keep running where their backend can do that.
"""

import asyncio
import contextlib
import errno
import signal
import socket
import ssl
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

import structlog
import uvicorn

from dovetail.access.certificates import own_certificate
from dovetail.access.known_servers import KnownServer, forget_server, note_server
from dovetail.api.app import create_app
from dovetail.api.protocol.connections import bounded_http, within_open_files
from dovetail.asyncio_tasks import cancel
from dovetail.cli.program.loop import server_runner
from dovetail.cli.terminal.failure import Failure
from dovetail.control.errors import StoreError
from dovetail.control.loop.garbage import ServerCollector
from dovetail.control.plane import ControlPlane
from dovetail.control.settings import Listen, Settings
from dovetail.control.telemetry.logs import configure_logs

_FINISH_WITHIN_S = 2  # stopping must not wait for a client that reads slowly
_BACKLOG = 2048
_KEEP_ALIVE_S = 75  # longer than the usual heartbeat: a new connection costs more than a heartbeat, with TLS many times

log = structlog.get_logger()

Announce = Callable[[ControlPlane, str, str], None]
Beside = Callable[[ControlPlane], Awaitable[None]]


def serve_until_stopped(settings: Settings, announce: Announce, beside: Beside | None = None) -> None:
    """`announce` is called once with the plane, the URL and a link to the dashboard. `beside` runs along with the
    server until it stops."""
    if "format" not in settings.logging.model_fields_set and sys.stderr.isatty():
        # Nobody asked for JSON, and a person is watching.
        for_people = settings.logging.model_copy(update={"format": "console"})
        settings = settings.model_copy(update={"logging": for_people})
    configure_logs(settings.logging.level, settings.logging.format)
    listener = bound(settings.listen.host, settings.listen.port)
    with contextlib.closing(listener), server_runner() as runner:
        runner.run(_serve(settings, listener, announce, beside))


async def _serve(
    settings: Settings,
    listener: socket.socket,
    announce: Announce,
    beside: Beside | None,
) -> None:
    plane = ControlPlane(settings, ServerCollector())
    app = create_app(plane, manage_plane=False)
    tls = certificate_files(settings)
    server = _Server(
        uvicorn.Config(
            app,
            lifespan="off",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            http=bounded_http(within_open_files(settings.limits)),
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=_FINISH_WITHIN_S,
            ssl_certfile=None if tls is None else tls[0],
            ssl_keyfile=None if tls is None else tls[1],
        )
    )
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, server.stop)
    try:
        await plane.start()
    except (OSError, StoreError) as error:
        raise Failure(f"cannot start: {error}") from None
    url = url_of(listener, "http" if tls is None else "https")
    urls = client_urls(settings.listen, url)
    _note(settings, urls, None if tls is None else tls[0])
    announce(plane, url, await _dashboard(plane, url))
    companions: list[asyncio.Future[None]] = []
    if beside is not None:
        companions.append(asyncio.ensure_future(beside(plane)))
    try:
        if not server.should_exit:
            await server.serve(sockets=[listener])
    finally:
        await cancel(*companions)
        forget_server(str(settings.token_file.absolute()), urls)
        await plane.stop()


async def _dashboard(plane: ControlPlane, url: str) -> str:
    """A link that logs a browser in, once; empty if there is no dashboard."""
    if not plane.settings.web.enabled:
        return ""
    token, _ = await plane.access.login_link()
    return f"{url}/login#{token}"


def certificate_files(settings: Settings) -> tuple[Path, Path] | None:
    """Certificate and key, made if there are none yet; None without TLS. Raises Failure."""
    tls = settings.listen.tls
    if tls is None:
        return None
    if tls.certificate is None or tls.key is None:
        settings.folder.mkdir(parents=True, exist_ok=True)
        return own_certificate(settings.folder, settings.listen.known_names)
    files = Path(tls.certificate).expanduser(), Path(tls.key).expanduser()
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(*files)
    except OSError as error:  # of TLS, too
        words = f"listen.tls: {files[0]} and {files[1]} cannot be used: {error.strerror or error}"
        raise Failure(f"{words}; give a certificate and its key as PEM files") from None
    return files


def _note(settings: Settings, urls: Sequence[str], certificate: Path | None) -> None:
    """Let commands of this account find the token. Without a home folder they are given one by hand."""
    shown = None if certificate is None else str(certificate.absolute())
    noted = KnownServer(urls[0], str(settings.token_file.absolute()), shown)
    try:
        note_server(noted, urls)
    except OSError as error:
        log.warning("commands cannot find the token by themselves; set DOVETAIL_TOKEN", error=str(error))


class _Server(uvicorn.Server):
    """Uvicorn raises signals again when it is done, which would end the process before the plane has stopped. Streams
    never end by themselves, so they are ended first."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.config.app.state.closing.set()  # type: ignore[union-attr]
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def stop(self) -> None:
        if self.should_exit:
            self.force_exit = True
        self.should_exit = True


def bound(host: str, port: int) -> socket.socket:
    """A listening socket. Raises Failure, which says what to do."""
    try:
        family, kind, proto, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, UnicodeError) as error:
        raise Failure(f"cannot listen on {host!r}: {error}; give an address of this machine with --host") from None
    found = socket.socket(family, kind, proto)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(_BACKLOG)  # here and not later: two processes can bind a port, only one can listen
    except OSError as error:
        found.close()
        raise Failure(f"cannot listen on {host} port {port}: {_why(error)}") from None
    return found


def _why(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "it is taken, perhaps by another dovetail; choose another with --port, or 0 for any free one"
    if error.errno == errno.EACCES:
        return "not permitted; ports below 1024 need more rights, choose another with --port"
    return f"{error.strerror}; give an address of this machine with --host"


def client_urls(listen: Listen, url: str) -> list[str]:
    """The addresses by which clients of this machine may know it, the announced one first."""
    scheme, port = url.partition("://")[0], url.rpartition(":")[2]
    names = ["localhost", *(name for name in listen.names if not name.startswith("."))]
    if not listen.is_loopback:
        names.append(socket.gethostname())
    return [url, *(f"{scheme}://{name}:{port}" for name in names)]


def url_of(listener: socket.socket, scheme: str = "http") -> str:
    """Where a client on this machine reaches it."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
