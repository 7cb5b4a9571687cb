"""`dovetail services` and `dovetail scale`: the services there are, and how many replicas each has."""

import time
from typing import Annotated

import click

from dovetail.cli import render
from dovetail.cli.services.rollout import follow
from dovetail.cli.terminal.failure import ExitCode
from dovetail.cli.terminal.options import Limit, Search, sorts_by
from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.paging import show_page
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.server import Url, connect


def services(
    name: Annotated[
        str | None, Argument(metavar="SERVICE", help="One of them, with its replicas.", completes="services")
    ] = None,
    namespace: Annotated[str | None, Option("--namespace", "-n", metavar="NAME", help="Only of this one.")] = None,
    sort: Annotated[str, sorts_by("name", "ready", "rollout", "revision", "made_at")] = "",
    search: Search = "",
    limit: Limit = None,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """The services there are, or one of them with its replicas: where each runs, whether it is ready, and why not."""
    with connect(url) as client:
        if name is not None:
            row = client.service(name, namespace=namespace)
            show(row, output, lambda wide: render.services.one_service(row, time.time(), wide))
            return
        page = client.service_page(namespace=namespace, search=search, sort=sort, limit=limit)
    now = time.time()
    show_page(page, output, lambda rows, wide: render.services.service_list(rows, now, wide), "service", search=search)


def scale(
    name: Annotated[str, Argument(metavar="SERVICE", help="Its name, or namespace/name.", completes="services")],
    replicas: Annotated[int, Argument(metavar="REPLICAS", min=0, help="How many there should be.")],
    wait: Annotated[bool, Option("--wait", help="Wait until so many are ready.")] = False,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Have more or fewer replicas of a service. Those with the highest numbers go first."""
    with connect(url) as client:
        row = client.scale(name, replicas)
        show(row, output, lambda _: f"{row['name']}: {row['ready']} ready, should be {row['replicas']}")
        if wait and not follow(client, row["name"], row["namespace"]):
            raise click.exceptions.Exit(ExitCode.FAILED)
