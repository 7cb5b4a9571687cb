"""`dovetail reserve`: capacity held on nodes, in a domain or for so many tasks, now or later, once or repeatedly."""

import re
import time
from datetime import datetime, timedelta
from typing import Annotated, Any

import click

from dovetail.cli import render
from dovetail.cli.terminal.default_action import default_group
from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.options import Cpu, Disk, Gpu, Limit, Memory, Search, resources, sorts_by
from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.paging import show_page
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.server import NodeName, Url, connect

command = default_group(
    "Reserve capacity on nodes, in a domain or for so many tasks; `reserve` alone lists reservations."
)
ReservationId = Annotated[int, Argument(metavar="ID", min=1, help="The reservation's number.")]
Holder = Annotated[str, Option(metavar="TEXT", help="Who asked for it.")]

_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


@command.action("list")
def list_reservations(
    sort: Annotated[str, sorts_by("id", "status", "target", "tenant", "start", "until", "every_s", "holder")] = "",
    search: Search = "",
    limit: Limit = None,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """What is reserved, where, for whom and when. This is what `dovetail reserve` does."""
    with connect(url) as client:
        page = client.reservation_page(search=search, sort=sort, limit=limit)
    now = time.time()
    show_page(
        page,
        output,
        lambda rows, wide: render.reservations.reservation_list(rows, now, wide),
        "reservation",
        search=search,
    )


@command.action("show")
def show_reservation(reservation: ReservationId, output: Output = Format.TABLE, url: Url = None) -> None:
    """One reservation: its window, its nodes, and what is wrong with it."""
    with connect(url) as client:
        row = client.reservation(reservation)
    show(row, output, lambda wide: render.reservations.one_reservation(row, time.time(), wide))


@command.action("create")
def create(
    duration: Annotated[str, Option("--for", metavar="TIME", help="How long, such as 30m or 2h.")],
    node: Annotated[list[str] | None, Option(metavar="NODE", help="On this node; may be repeated.")] = None,
    domain: Annotated[
        str | None, Option(metavar="LABEL=VALUE", help="On every node of a domain, such as rack=r1.")
    ] = None,
    count: Annotated[
        int | None, Option(metavar="N", min=1, help="For so many tasks, wherever they fit (or in --domain).")
    ] = None,
    selector: Annotated[
        list[str] | None, Option(metavar="LABEL=VALUE", help="With --count: only nodes with this label.")
    ] = None,
    cpu: Cpu = None,
    memory: Memory = None,
    disk: Disk = None,
    gpu: Gpu = None,
    at: Annotated[
        str, Option(metavar="TIME", help="From when: now, +2h, 14:00 or 2026-12-01T08:00 (your time).")
    ] = "now",
    every: Annotated[str | None, Option(metavar="TIME", help="Again and again, such as every 1d or 1w.")] = None,
    until: Annotated[str | None, Option(metavar="DATE", help="With --every: the last day on which it begins.")] = None,
    tenant: Annotated[
        str | None, Option(metavar="NAMESPACE", help="Namespace whose work may use it; without it, none may.")
    ] = None,
    holder: Holder = "",
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Reserve capacity. Without amounts whole nodes are reserved.

    dovetail reserve create --node n1 --at 14:00 --for 2h --holder ops

    dovetail reserve create --count 8 --cpu 4 --at +2h --for 1h --every 1d --tenant research
    """
    now = time.time()
    wanted: dict[str, Any] = {
        "nodes": node,
        "domain": dict([_pair("--domain", domain)]) if domain is not None else None,
        "count": count,
        "node_selector": dict(_pair("--selector", text) for text in selector or ()) or None,
        "resources": resources(cpu, memory, disk, gpu) or None,
        "start": local_moment(at, now),
        "duration": duration,
        "every": every,
        "until": None if until is None else local_last(until, now),
        "tenant": tenant,
        "holder": holder,
    }
    if not node and domain is None and count is None:
        raise Failure("say where: --node NODE, --domain LABEL=VALUE, or --count N with --cpu and so on", ExitCode.USAGE)
    _make({name: value for name, value in wanted.items() if value is not None}, output, url)


@command.action("add")
def add(
    node: NodeName,
    duration: Annotated[str, Option("--for", metavar="TIME", help="How long, such as 30m or 2h.")],
    cpu: Cpu = None,
    memory: Memory = None,
    disk: Disk = None,
    gpu: Gpu = None,
    holder: Holder = "",
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Hold free capacity of a node from now on: dovetail reserve add n1 --cpu 4 --for 2h"""
    asked = resources(cpu, memory, disk, gpu)
    if not asked:
        raise Failure("say what to hold: --cpu, --memory, --disk or --gpu", ExitCode.USAGE)
    _make({"node": node, "resources": asked, "duration": duration, "holder": holder}, output, url)


@command.action("release")
def release(reservation: ReservationId, url: Url = None) -> None:
    """Release a reservation before it ends; a recurring one does not come back."""
    with connect(url) as client:
        client.release(reservation)
    click.echo(f"reservation {reservation} released")


# --- times as a person at this machine types them ----------------------------------------------------------------
#
# A time without a zone is local. Times are sent with their zone, because the server may be in another one. What is
# neither a time of day nor a calendar time (`now`, `+2h`) is sent unchanged: the server says what it accepts.


def local_moment(text: str, now: float) -> str:
    """`14:00` is the next one."""
    text = text.strip()
    if text.lower() == "now" or text.startswith("+"):
        return text
    today = datetime.fromtimestamp(now)
    clock = _CLOCK.fullmatch(text)
    try:
        if clock is None:
            return datetime.fromisoformat(text).astimezone().isoformat()
        hour, minute, second = (int(part or 0) for part in clock.groups())
        found = today.replace(hour=hour, minute=minute, second=second, microsecond=0)
    except (ValueError, OverflowError):
        raise Failure(
            f"{text[:60]!r} is not a time; write now, +2h, 14:00 or 2026-12-01T08:00", ExitCode.USAGE
        ) from None
    if found < today.replace(second=0, microsecond=0):
        found += timedelta(days=1)
    return found.astimezone().isoformat()


def local_last(text: str, now: float) -> str:
    """A date alone is the end of that day."""
    if not _DATE.fullmatch(text.strip()):
        return local_moment(text, now)
    try:
        day = datetime.fromisoformat(text.strip())
    except ValueError:
        raise Failure(f"{text[:60]!r} is not a date; write one such as 2026-12-01", ExitCode.USAGE) from None
    return (day + timedelta(days=1, seconds=-1)).astimezone().isoformat()


def _make(wanted: dict[str, Any], output: Format, url: str | None) -> None:
    with connect(url) as client:
        made = client.reserve_ahead(wanted)
    show(made, output, lambda wide: render.reservations.reservation_list([made], time.time(), wide))


def _pair(option: str, text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise Failure(f"{option} {text!r} is not a label; write {option} LABEL=VALUE, such as rack=r1", ExitCode.USAGE)
    return key, value
