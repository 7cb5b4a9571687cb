"""`dovetail reserve`: hold capacity back on a node for a while."""

import time
from typing import Annotated

import typer

from dovetail.cli.default_action import DefaultAction
from dovetail.cli.failure import ExitCode, Failure
from dovetail.cli.output import Format, Output, show
from dovetail.cli.resource_options import Cpu, Disk, Gpu, Memory, resources
from dovetail.cli.server import NodeName, Url, connect

command = typer.Typer(
    cls=DefaultAction,
    add_completion=False,
    rich_markup_mode=None,
    help="Hold capacity back on a node for a while; `reserve` alone lists what is held.",
)


@command.command("list")
def list_reservations(output: Output = Format.TABLE, url: Url = None) -> None:
    """What is held, where, for whom and until when. This is what `dovetail reserve` does."""
    with connect(url) as client:
        rows = client.reservations()
    from dovetail.cli.render.reservations import reservation_list

    show(rows, output, lambda wide: reservation_list(rows, time.time(), wide))


@command.command("add")
def add(
    node: NodeName,
    duration: Annotated[str, typer.Option("--for", metavar="TIME", help="How long, such as 30m or 2h.")],
    cpu: Cpu = None,
    memory: Memory = None,
    disk: Disk = None,
    gpu: Gpu = None,
    holder: Annotated[str, typer.Option(metavar="TEXT", help="For whom.")] = "",
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Hold free capacity of a node back: dovetail reserve add n1 --cpu 4 --for 2h"""
    asked = resources(cpu, memory, disk, gpu)
    if not asked:
        raise Failure("say what to hold: --cpu, --memory, --disk or --gpu", ExitCode.USAGE)
    with connect(url) as client:
        made = client.reserve(node, asked, duration, holder=holder)
    from dovetail.cli.render.reservations import reservation_list

    show(made, output, lambda wide: reservation_list([made], time.time(), wide))


@command.command("release")
def release(
    reservation: Annotated[int, typer.Argument(metavar="ID", min=1, help="The reservation's number.")], url: Url = None
) -> None:
    """Give held capacity back before its time is over."""
    with connect(url) as client:
        client.release(reservation)
    typer.echo(f"reservation {reservation} released")
