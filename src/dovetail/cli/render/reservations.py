"""Reservations as a table."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from dovetail.cli.render.spans import moment, span
from dovetail.cli.render.table import Column, count, table
from dovetail.client.types import Reservation

_COLUMNS = (
    Column("ID", right=True),
    Column("NODE"),
    Column("HELD", shrinks=True),
    Column("HOLDER", shrinks=True),
    Column("ENDS IN", right=True),
    Column("ENDS AT", wide=True),
)


def reservation_list(rows: Sequence[Reservation], now: float, wide: bool = False) -> RenderableType:
    if not rows:
        return Text("nothing is reserved")
    lines = [
        [row["id"], row["node"], held(row), row["holder"], span(row["until"] - now), moment(row["until"], now)]
        for row in rows
    ]
    return Group(Text(f"{count(len(rows), 'reservation')}"), table(_COLUMNS, lines, wide))


def held(row: Reservation) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in row["resources"].items())
