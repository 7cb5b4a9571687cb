"""`dovetail cancel`: stop workloads."""

from typing import Annotated

import typer

from dovetail.cli.failure import ExitCode, told
from dovetail.cli.output import say
from dovetail.cli.server import Names, Namespace, Url, connect


def command(
    names: Names,
    namespace: Namespace = "default",
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Kept in its history.")] = None,
    url: Url = None,
) -> None:
    """Stop workloads: what runs is ended, what waits is forgotten. All are tried, whatever happens to one."""
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
                typer.echo(f"{name}: asked to stop")
    if code:
        raise typer.Exit(code)
