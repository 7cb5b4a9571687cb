"""What the commands that serve a Kubernetes cluster share: options, settings, and how they stop."""

import asyncio
import logging
import signal
import sys
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import click

from dovetail.cli.program.loop import run_fast
from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.files import read_file
from dovetail.cli.terminal.parameters import Option

if TYPE_CHECKING:
    from dovetail.kubernetes.scheduler.settings import KubernetesSchedulerSettings
    from dovetail.kubernetes_client.access import Access
    from dovetail.kubernetes_client.api import Api
    from dovetail.kubernetes_client.rights import AccessRight

_log = logging.getLogger(__name__)

Settings = TypeVar("Settings", bound="KubernetesSchedulerSettings")

Kubeconfig = Annotated[
    str | None, Option(metavar="FILE", help="As kubectl reads it. [default: $KUBECONFIG, or the pod's own]")
]
Context = Annotated[str | None, Option(metavar="NAME", help="Of the kubeconfig.")]
Config = Annotated[Path | None, Option("--config", "-c", metavar="FILE", help="Settings.")]


def way_to(kubeconfig: str | None, context: str | None) -> "Access":
    from dovetail.kubernetes_client.access import AccessError, find_access

    try:
        return find_access(kubeconfig, context)
    except (AccessError, OSError) as error:
        raise Failure(f"no way to a cluster: {error}", ExitCode.USAGE) from None


async def check_access(api: "Api", manifest: str, more: "Sequence[AccessRight]" = ()) -> None:
    """Raises Failure for credentials that the server does not accept, or that lack rights: trying on would not help. A
    server that does not answer may come back. `manifest`: the file that grants the rights; `more`: of this program."""
    from dovetail.kubernetes.scheduler.permissions import needed_rights, useful_rights
    from dovetail.kubernetes_client.errors import KubernetesApiError, Unauthorized
    from dovetail.kubernetes_client.rights import lacking, missing_rights

    server = api.access.server
    with suppress(KubernetesApiError):
        try:
            missing = await missing_rights(api, [*needed_rights(), *more])
            wanting = await missing_rights(api, useful_rights())
        except Unauthorized:
            words = "they are wrong, revoked or expired; renew those in the kubeconfig or of the service account"
            raise Failure(f"{server} does not accept our credentials (401): {words}") from None
        if missing:
            raise Failure(lacking(missing, manifest, f" on {server}"))
        if wanting:
            _log.warning("%s. It goes on without them", lacking(wanting, manifest, f" on {server}"))


def settings_of(model: type[Settings], names: list[str], config: Path | None) -> Settings:
    """The settings of the file; names on the command line replace those of the file."""
    from dovetail.kubernetes.objects.pods import PROFILE
    from dovetail.model.text.document import Document
    from dovetail.model.text.reading import check_documents, read_one

    given = model() if config is None else read_one(model, read_file(config), str(config))
    if names:
        by_name = {name.partition("=")[0]: name.partition("=")[2] or PROFILE for name in names}
        data = given.model_dump(mode="json") | {"names": by_name}
        given = check_documents(model, [Document(data, "command line")])[0]
    return given


LogLevel = Annotated[Literal["debug", "info", "warning", "error"], Option("--log-level", help="How much to log.")]


def run_logged(whole: Coroutine[Any, Any, None], log_level: str) -> None:
    """Run it with its log on stderr; Ctrl-C is a good end."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    logging.getLogger("dovetail").setLevel(log_level.upper())
    try:
        run_fast(whole)
    except KeyboardInterrupt:
        raise click.exceptions.Exit(ExitCode.DONE) from None


def stop_on_signals() -> None:
    """On SIGINT or SIGTERM, cancel the current task, which cleans up before it ends."""
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
