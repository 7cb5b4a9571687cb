"""`dovetail kubernetes scheduler`: place the pods of a cluster that name it, until it is told to stop."""

import asyncio
import os
import signal
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli.failure import ExitCode, Failure
from dovetail.cli.output import stderr

if TYPE_CHECKING:
    from dovetail.kubernetes.scheduler.settings import KubernetesSchedulerSettings

LEASE = "dovetail-scheduler"


def scheduler(
    kubeconfig: Annotated[
        str | None, typer.Option(metavar="FILE", help="As kubectl reads it. [default: $KUBECONFIG, or the pod's own]")
    ] = None,
    context: Annotated[str | None, typer.Option(metavar="NAME", help="Of the kubeconfig.")] = None,
    names: Annotated[
        list[str] | None,
        typer.Option(
            "--name", metavar="NAME[=PROFILE]", help="schedulerName of the pods to place. [default: dovetail]"
        ),
    ] = None,
    config: Annotated[Path | None, typer.Option("--config", "-c", metavar="FILE", help="Settings.")] = None,
    lease: Annotated[
        str, typer.Option(metavar="NAMESPACE/NAME", help="Of several with this lease, one decides.")
    ] = f"kube-system/{LEASE}",
    elect: Annotated[bool, typer.Option("--elect/--no-elect", help="Wait for the lease, or decide at once.")] = True,
) -> None:
    """Place the pods that name this scheduler. Ctrl-C stops it; pods that are bound stay where they are."""
    try:
        asyncio.run(_run(kubeconfig, context, names or [], config, lease if elect else None))
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.DONE) from None


async def _run(
    kubeconfig: str | None, context: str | None, names: list[str], config: Path | None, lease: str | None
) -> None:
    try:
        from dovetail.kubernetes.client.access import AccessError, find_access
        from dovetail.kubernetes.client.api import Api
        from dovetail.kubernetes.client.credentials import CredentialsError
        from dovetail.kubernetes.client.election import Election, LeadershipLost
        from dovetail.kubernetes.client.errors import ApiError
        from dovetail.kubernetes.scheduler.scheduler import Scheduler
    except ModuleNotFoundError as error:
        words = f"{error.name} is not installed; install it with: pip install 'dovetail[kubernetes]'"
        raise Failure(words, ExitCode.USAGE) from None
    settings = _settings(names, config)
    try:
        access = find_access(kubeconfig, context)
    except (AccessError, OSError) as error:
        raise Failure(f"no way to a cluster: {error}", ExitCode.USAGE) from None
    identity = f"{socket.gethostname()}_{os.getpid()}"
    async with Api(access, width=settings.bindings_at_once, agent="dovetail-scheduler") as api:
        found = Scheduler(api, settings, instance=identity)

        async def lead() -> None:
            stderr().print(f"decides for {', '.join(settings.names)} on {access.server}")
            await found.run()

        _stop_on_signals()
        try:
            if lease is None:
                await lead()
            else:
                namespace, _, name = lease.rpartition("/")
                stderr().print(f"waits for the lease {namespace or 'kube-system'}/{name}")
                await Election(api, namespace or "kube-system", name, identity).run(lead)
        except asyncio.CancelledError:
            stderr().print(f"stopped; {found.bound} pods were bound")
        except LeadershipLost as error:
            raise Failure(f"{error}; another goes on", ExitCode.FAILED) from None
        except (ApiError, CredentialsError) as error:
            raise Failure(str(error), ExitCode.UNREACHABLE) from None


def _stop_on_signals() -> None:
    """Told to stop, it gives the lease back before it goes."""
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)


def _settings(names: list[str], config: Path | None) -> "KubernetesSchedulerSettings":
    from dovetail.kubernetes.pods import PROFILE
    from dovetail.kubernetes.scheduler.settings import KubernetesSchedulerSettings
    from dovetail.model.document import Document
    from dovetail.model.reading import check_documents, read_one

    given = KubernetesSchedulerSettings()
    if config is not None:
        try:
            given = read_one(KubernetesSchedulerSettings, config.read_bytes(), str(config))
        except OSError as error:
            raise Failure(f"{config}: cannot be read: {error.strerror or error}", ExitCode.USAGE) from None
    if names:
        by_name = {name.partition("=")[0]: name.partition("=")[2] or PROFILE for name in names}
        data = given.model_dump(mode="json") | {"names": by_name}
        given = check_documents(KubernetesSchedulerSettings, [Document(data, "command line")])[0]
    return given
