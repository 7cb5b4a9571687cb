"""`dovetail kubernetes scheduler`: place the pods that name this scheduler, until a signal stops it."""

import asyncio
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dovetail.cli.kubernetes import options
from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.output import say
from dovetail.cli.terminal.parameters import Option

if TYPE_CHECKING:
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
    log_level: options.LogLevel = "warning",
) -> None:
    """Place the pods that name this scheduler. Ctrl-C stops it; pods that are bound stay where they are."""
    lease_s = lease_duration if elect else 0
    options.run_logged(_run(kubeconfig, context, names or [], config, lease, lease_s, listen), log_level)


async def _run(
    kubeconfig: str | None,
    context: str | None,
    names: list[str],
    config: Path | None,
    lease: str,
    lease_s: int,
    listen: str | None,
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
        if listen is not None:
            _listen(found, listen)

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
    from dovetail.kubernetes_client.tasks import cancel

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


def _listen(found: "PodScheduler", where: str) -> None:
    from dovetail.kubernetes.scheduler.metrics import serve_metrics

    host, _, port = where.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise Failure(f"--listen {where}: give a port, or an address and a port such as 0.0.0.0:10270", ExitCode.USAGE)
    host = host.strip("[]") or "127.0.0.1"
    try:
        taken = serve_metrics(found, host, int(port))
    except OSError as error:
        words = f"cannot listen on {where}: {error.strerror or error}; choose another with --listen"
        raise Failure(words, ExitCode.USAGE) from None
    say(f"metrics on http://{f'[{host}]' if ':' in host else host}:{taken}/metrics")
