"""`dovetail cloud`: what machines could be launched at which price, which run, and which nobody knows of."""

import time
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

from dovetail.cli import render
from dovetail.cli.terminal.default_action import plain_group
from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.parameters import Option
from dovetail.cli.terminal.server import Url, connect

if TYPE_CHECKING:
    from dovetail.responses.cloud import CloudOfferRow

command = plain_group("Machines that are launched for work: prices, those that run, those that nobody knows of.")

Backend = Annotated[str | None, Option("--backend", metavar="BACKEND", help="Only this backend.")]


class PriceOrder(StrEnum):
    PRICE = "price"
    NAME = "name"
    CPU = "cpu"
    MEMORY = "memory"
    GPUS = "gpus"


#: The largest first.
_KEYS: dict[PriceOrder, Callable[["CloudOfferRow"], Any]] = {
    PriceOrder.NAME: lambda row: row["name"],
    PriceOrder.CPU: lambda row: -row["cpu"],
    PriceOrder.MEMORY: lambda row: -row["memory"],
    PriceOrder.GPUS: lambda row: -row["gpus"],
}


@command.action("instances")
def instances(
    backend: Backend = None,
    ended: Annotated[bool, Option("--ended", help="Also those that have ended lately.")] = False,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """The machines that run for us: since when, at which price, what they have cost and what runs on them."""
    with connect(url) as client:
        found = client.cloud_instances(backend=backend, ended=ended)
    show(found, output, lambda wide: render.cloud.instance_list(found, time.time(), wide))


@command.action("prices")
def prices(
    backend: Backend = None,
    match: Annotated[
        str | None, Option("--match", metavar="PATTERN", help="Types by name, such as 'm7i.*' or '*-us-east-1a'.")
    ] = None,
    gpus: Annotated[int, Option("--gpus", metavar="N", help="At least so many GPUs.")] = 0,
    spot: Annotated[
        bool | None, Option("--spot/--on-demand", help="Only machines that may be taken back, or only others.")
    ] = None,
    order: Annotated[PriceOrder, Option("--sort", help="By what the rows are sorted.")] = PriceOrder.PRICE,
    limit: Annotated[int, Option("--limit", metavar="N", help="How many rows to show; 0: all.")] = 30,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """What could be launched: types and zones with their shape and price, and why some are not offered now."""
    with connect(url) as client:
        rows = client.cloud_prices(backend=backend, match=match, gpus=gpus, spot=spot)
    if order is not PriceOrder.PRICE:  # by which the server sorts
        rows.sort(key=_KEYS[order])
    show(rows, output, lambda wide: render.cloud.price_list(rows, limit, wide))


@command.action("reap")
def reap(
    backend: Backend = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Only show them.")] = False,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """End machines with our mark that nobody knows of. The server does this too, after a while (`reap_after`)."""
    with connect(url) as client:
        found = client.reap(backend=backend, dry_run=dry_run)
    show(found, output, lambda wide: render.cloud.reaped(found, time.time(), wide))
