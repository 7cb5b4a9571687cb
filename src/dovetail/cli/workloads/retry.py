"""`dovetail retry`: run the failed tasks of workloads again."""

from typing import Annotated

import click

from dovetail.cli.terminal.failure import ExitCode, told
from dovetail.cli.terminal.output import say
from dovetail.cli.terminal.parameters import Option
from dovetail.cli.terminal.server import Names, Namespace, Url, connect
from dovetail.model.text.listing import count


def command(
    names: Names,
    namespace: Namespace = None,
    reason: Annotated[str | None, Option(metavar="TEXT", help="Kept in its history.")] = None,
    url: Url = None,
) -> None:
    """Run the failed tasks of workloads again, with all their retries. Tasks that succeeded are left alone.

    It does not matter whether the workload has ended. All names are tried, even if one fails.
    """
    from dovetail.client import DovetailError

    code = ExitCode.DONE
    with connect(url) as client:
        for name in names:
            try:
                tasks = client.retry(name, namespace, reason=reason)["tasks"]
            except DovetailError as error:
                lines, found = told(error)
                code = code or found
                say("\n".join(lines))
            else:
                click.echo(f"{name}: {count(len(tasks), 'task')} will run again: {_ranges(tasks)}")
    if code:
        raise click.exceptions.Exit(code)


def _ranges(numbers: list[int]) -> str:
    """`0–3, 7`"""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][-1] + 1:
            found[-1][1:] = [number]
        else:
            found.append([number])
    return ", ".join("–".join(map(str, ends)) for ends in found)
