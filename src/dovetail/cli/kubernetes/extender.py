"""`dovetail kubernetes extender`: answer the webhooks of a stock kube-scheduler, until a signal stops it."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from dovetail.cli.kubernetes import options
from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.output import say
from dovetail.cli.terminal.parameters import Option

if TYPE_CHECKING:
    from dovetail.kubernetes.extender.certificates import Certificates

PORT = 8443


def extender(
    host: Annotated[str, Option(metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, Option(metavar="N", min=0, max=65535, help="Where to listen; 0 takes any free one.")] = PORT,
    tls_cert: Annotated[Path | None, Option(metavar="FILE", help="The server certificate, as PEM.")] = None,
    tls_key: Annotated[Path | None, Option(metavar="FILE", help="Its key.")] = None,
    client_ca: Annotated[
        Path | None, Option(metavar="FILE", help="Accept only clients with a certificate of these authorities.")
    ] = None,
    any_client: Annotated[
        bool, Option("--any-client", help="Beyond this machine without --client-ca: everybody can have pods bound.")
    ] = False,
    insecure_http: Annotated[
        bool, Option("--insecure-http", help="Without TLS: others can read and change the answers.")
    ] = False,
    kubeconfig: options.Kubeconfig = None,
    context: options.Context = None,
    names: Annotated[
        list[str] | None,
        Option(
            "--name",
            metavar="NAME[=PROFILE]",
            help="schedulerName of the kube-scheduler that asks. [default: default-scheduler]",
        ),
    ] = None,
    config: options.Config = None,
    log_level: options.LogLevel = "warning",
) -> None:
    """Answer the extender webhooks (filter, prioritize, preempt, bind) of a stock kube-scheduler.

    With the scheduler that the cluster has, gangs start together and near each other, and annotations of pods count.
    Ctrl-C stops it; what kube-scheduler does then depends on its own settings (`ignorable`).
    """
    from dovetail.access.addresses import is_loopback

    if not (is_loopback(host) or client_ca or any_client or insecure_http):
        words = f"--host {host}: others can reach it, and could have pods bound; give --client-ca with the authority "
        raise Failure(
            f"{words}of kube-scheduler's certificate, or say --any-client to answer everybody", ExitCode.USAGE
        )
    certificates = _certificates(tls_cert, tls_key, client_ca, insecure_http)
    options.run_logged(_run(host, port, certificates, kubeconfig, context, names or [], config), log_level)


def _certificates(
    certificate: Path | None, key: Path | None, client_ca: Path | None, plain: bool
) -> "Certificates | None":
    from ssl import SSLError

    from dovetail.kubernetes.extender.certificates import Certificates

    if plain:
        if certificate or key or client_ca:
            raise Failure("--insecure-http goes without certificates: leave it out, or them", ExitCode.USAGE)
        return None
    if certificate is None or key is None:
        words = "give a certificate with --tls-cert and --tls-key, or say --insecure-http to go without TLS"
        raise Failure(words, ExitCode.USAGE)
    try:
        return Certificates(certificate, key, client_ca)
    except (OSError, SSLError) as error:
        words = f"the certificate cannot be used ({certificate}, {key}): {error.strerror or error}"
        raise Failure(words, ExitCode.USAGE) from None


async def _run(
    host: str,
    port: int,
    certificates: "Certificates | None",
    kubeconfig: str | None,
    context: str | None,
    names: list[str],
    config: Path | None,
) -> None:
    from dovetail.kubernetes.extender.app import listen, serve
    from dovetail.kubernetes.extender.extender import Extender
    from dovetail.kubernetes.extender.settings import KubernetesExtenderSettings
    from dovetail.kubernetes_client.api import Api

    settings = options.settings_of(KubernetesExtenderSettings, names, config)
    access = options.way_to(kubeconfig, context)
    try:
        listener = listen(host, port)
    except OSError as error:
        words = f"cannot listen on {host} port {port}: {error.strerror or error}; choose another with --host and --port"
        raise Failure(words) from None
    shown = f"[{host}]" if ":" in host else host
    url = f"{'http' if certificates is None else 'https'}://{shown}:{listener.getsockname()[1]}"
    async with Api(access, width=settings.bindings_at_once, agent="dovetail-extender") as api:
        await options.check_access(api, "deploy/kubernetes/extender.yaml")
        try:
            found = Extender(api, settings)
        except ValueError as error:
            raise Failure(f"{config or 'settings'}: {error}", ExitCode.USAGE) from None
        options.stop_on_signals()
        # On stdout, so that a script can read where it listens.
        click.echo(f"answers {', '.join(settings.names)} on {url}, about {access.server}")
        try:
            with listener:
                await serve(found, listener, certificates)
        except asyncio.CancelledError:
            say(f"stopped; {found.bind_verb.bound} pods were bound")
