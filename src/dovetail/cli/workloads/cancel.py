"""`dovetail cancel`: stop workloads."""

from typing import Annotated

import click

from dovetail.cli.terminal.failure import ExitCode, told
from dovetail.cli.terminal.output import say
from dovetail.cli.terminal.parameters import Option
from dovetail.cli.terminal.server import Names, Namespace, Url, connect


def command(
    names: Names,
    namespace: Namespace = None,
    reason: Annotated[str | None, Option(metavar="TEXT", help="Kept in its history.")] = None,
    url: Url = None,
) -> None:
    """Cancel workloads: running tasks are stopped, pending tasks are dropped. All are tried, even if one fails."""
    from dovetail.client import DovetailError

    code = ExitCode.DONE
    with connect(url) as client:
        for name in names:
            try:
                client.cancel(name, namespace, reason=reason)
            except DovetailError as error:
                lines, found = told(error)
                code = code or found
                say("\n".join(lines))
            else:
                click.echo(f"{name}: asked to stop")
    if code:
        raise click.exceptions.Exit(code)
