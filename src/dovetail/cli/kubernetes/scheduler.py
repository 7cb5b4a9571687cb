"""`dovetail kubernetes scheduler`: place the pods that name this scheduler, until a signal stops it."""

import asyncio
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from dovetail.cli.kubernetes import options
from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.output import say
from dovetail.cli.terminal.parameters import Option

if TYPE_CHECKING:
    from ssl import SSLContext

    from dovetail.kubernetes.scheduler.scheduler import PodScheduler
    from dovetail.kubernetes.scheduler.settings import KubernetesSchedulerSettings
    from dovetail.kubernetes_client.election import Election

LEASE = "dovetail-scheduler"
LEASE_S = 7
MANIFEST = "deploy/kubernetes/scheduler.yaml"


def scheduler(
    kubeconfig: options.Kubeconfig = None,
    context: options.Context = None,
    names: Annotated[
        list[str] | None,
        Option("--name", metavar="NAME[=PROFILE]", help="schedulerName of the pods to place. [default: dovetail]"),
    ] = None,
    config: options.Config = None,
    lease: Annotated[
        str, Option(metavar="NAMESPACE/NAME", help="Of several instances with this lease, one is active.")
    ] = f"kube-system/{LEASE}",
    lease_duration: Annotated[
        int,
        Option(
            metavar="SECONDS",
            min=3,
            max=300,
            help="After a leader was killed, another waits this long, and decides about a second later.",
        ),
    ] = LEASE_S,
    elect: Annotated[bool, Option("--elect/--no-elect", help="Wait for the lease, or start at once.")] = True,
    listen: Annotated[
        str | None,
        Option(metavar="[HOST:]PORT", help="Serve /metrics, /healthz and /readyz there. [default: nowhere]"),
    ] = None,
    tls_cert: Annotated[Path | None, Option(metavar="FILE", help="The certificate of --listen, as PEM.")] = None,
    tls_key: Annotated[Path | None, Option(metavar="FILE", help="Its key.")] = None,
    token_file: Annotated[
        Path | None, Option(metavar="FILE", help="Who asks --listen for /metrics has to send this token.")
    ] = None,
    insecure_http: Annotated[
        bool, Option("--insecure-http", help="Let --listen go beyond this machine without TLS and token.")
    ] = False,
    log_level: options.LogLevel = "warning",
) -> None:
    """Place the pods that name this scheduler. Ctrl-C stops it; pods that are bound stay where they are."""
    lease_s = lease_duration if elect else 0
    listens = None if listen is None else _listens(listen, tls_cert, tls_key, token_file, insecure_http)
    options.run_logged(_run(kubeconfig, context, names or [], config, lease, lease_s, listens), log_level)


class _Listens(NamedTuple):
    """Where metrics are served, and to whom."""

    where: str
    host: str
    port: int
    token: str | None
    tls: "SSLContext | None"


def _listens(
    where: str, certificate: Path | None, key: Path | None, token_file: Path | None, insecure_http: bool
) -> _Listens:
    """Raises Failure for what cannot be used, or is open to others without saying so."""
    from dovetail.access.addresses import is_loopback
    from dovetail.access.known_servers import read_token

    host, _, port = where.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise Failure(f"--listen {where}: give a port, or an address and a port such as 0.0.0.0:10270", ExitCode.USAGE)
    host = host.strip("[]") or "127.0.0.1"
    if not (is_loopback(host) or insecure_http or (certificate and key and token_file)):
        words = f"--listen {where}: others can reach it; give --tls-cert, --tls-key and --token-file"
        raise Failure(f"{words}, or say --insecure-http to let everybody read the metrics", ExitCode.USAGE)
    token = None if token_file is None else read_token(token_file)
    if token_file is not None and token is None:
        raise Failure(f"--token-file: {token_file} holds no token, or cannot be read", ExitCode.USAGE)
    return _Listens(where, host, int(port), token, _tls(certificate, key))


def _tls(certificate: Path | None, key: Path | None) -> "SSLContext | None":
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise Failure("--tls-cert and --tls-key go together", ExitCode.USAGE)
    import ssl

    found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        found.load_cert_chain(certificate, key)
    except OSError as error:
        words = f"the certificate cannot be used ({certificate}, {key}): {error.strerror or error}"
        raise Failure(words, ExitCode.USAGE) from None
    return found


async def _run(
    kubeconfig: str | None,
    context: str | None,
    names: list[str],
    config: Path | None,
    lease: str,
    lease_s: int,
    listens: _Listens | None,
) -> None:
    """`lease_s`: 0 to decide at once, without a lease."""
    from dovetail.kubernetes.scheduler.permissions import lease_rights
    from dovetail.kubernetes_client.api import Api
    from dovetail.kubernetes_client.election import Election, LeadershipLost, pace_of
    from dovetail.kubernetes_client.errors import KubernetesApiError
    from dovetail.kubernetes_client.paths import NODES, PODS

    access = options.way_to(kubeconfig, context)
    identity = f"{socket.gethostname()}_{os.getpid()}"
    async with Api(access, agent="dovetail-scheduler") as api:
        if not lease_s:
            for path in (NODES, PODS):  # the server is at work while the rest is loaded
                api.ask_ahead(path)
        namespace, _, name = lease.rpartition("/")
        namespace = namespace or "kube-system"
        for_lease = lease_rights(namespace, name) if lease_s else []
        (make, settings), _ = await asyncio.gather(
            asyncio.to_thread(_load, names, config), options.check_access(api, MANIFEST, for_lease)
        )
        api.widen(settings.bindings_at_once)
        election = Election(api, namespace, name, identity, pace_of(lease_s)) if lease_s else None
        leads = (lambda: True) if election is None else (lambda: election.holds)
        try:
            found = make(api, settings, instance=identity, leads=leads, stands_by=election is not None)
        except ValueError as error:
            raise Failure(f"{config or 'settings'}: {error}", ExitCode.USAGE) from None
        if listens is not None:
            _listen(found, listens)

        options.stop_on_signals()  # the lease is given back before it goes
        try:
            decides = f"decides for {', '.join(settings.names)} on {access.server}"
            if election is None:
                say(decides)
                await found.run()
            else:
                say(f"waits for the lease {namespace}/{name}")
                await _run_elected(found, election, decides)
        except asyncio.CancelledError:
            say(f"stopped; {found.bound} pods were bound")
        except LeadershipLost as error:
            raise Failure(f"{error}; another goes on", ExitCode.FAILED) from None
        except KubernetesApiError as error:
            raise Failure(str(error), ExitCode.UNREACHABLE) from None


async def _run_elected(found: "PodScheduler", election: "Election", decides: str) -> None:
    """Follows the cluster from the start, so that it need not read everything after it was elected."""
    from dovetail.asyncio_tasks import cancel

    running = asyncio.create_task(found.run())

    async def lead() -> None:
        say(decides)
        found.lead()
        await running

    electing = asyncio.create_task(election.run(lead))
    try:
        done, _ = await asyncio.wait((electing, running), return_when=asyncio.FIRST_COMPLETED)
        for one in (running, electing):
            if one in done:
                one.result()
    finally:
        await cancel(electing, running)


def _load(names: list[str], config: Path | None) -> "tuple[type[PodScheduler], KubernetesSchedulerSettings]":
    from dovetail.kubernetes.scheduler.scheduler import PodScheduler
    from dovetail.kubernetes.scheduler.settings import KubernetesSchedulerSettings

    return PodScheduler, options.settings_of(KubernetesSchedulerSettings, names, config)


def _listen(found: "PodScheduler", listens: _Listens) -> None:
    from dovetail.kubernetes.scheduler.metrics import serve_metrics

    host = listens.host
    try:
        taken = serve_metrics(found, host, listens.port, listens.token, listens.tls)
    except OSError as error:
        words = f"cannot listen on {listens.where}: {error.strerror or error}; choose another with --listen"
        raise Failure(words, ExitCode.USAGE) from None
    scheme = "http" if listens.tls is None else "https"
    say(f"metrics on {scheme}://{f'[{host}]' if ':' in host else host}:{taken}/metrics")
