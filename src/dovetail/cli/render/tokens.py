"""Join tokens and sessions of browsers as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dovetail.cli.render.parts.table import TableColumn, table
from dovetail.cli.render.parts.text import Drawing, Stack, Text
from dovetail.cli.render.parts.times import moment, span
from dovetail.model.text.listing import count

if TYPE_CHECKING:
    from dovetail.responses.login import SessionRow
    from dovetail.responses.tokens import JoinTokenRow


def join_token_list(rows: Sequence[JoinTokenRow], now: float, wide: bool = False) -> Drawing:
    if not rows:
        return Text("no join token admits nodes; make one: dovetail token join")
    columns: list[TableColumn[JoinTokenRow]] = [
        TableColumn("ID", lambda row: str(row["id"]), right=True),
        TableColumn("NODES LEFT", lambda row: str(row["uses_left"]), right=True),
        TableColumn("EXPIRES IN", lambda row: span(row["expires_at"] - now), right=True),
        TableColumn("MADE", lambda row: moment(row["made_at"], now)),
    ]
    return Stack(Text(count(len(rows), "join token")), table(columns, rows, wide))


def session_list(rows: Sequence[SessionRow], now: float, wide: bool = False) -> Drawing:
    if not rows:
        return Text("no browser is logged in; open one: dovetail open")
    columns: list[TableColumn[SessionRow]] = [
        TableColumn("ID", lambda row: str(row["id"]), right=True),
        TableColumn("USER", lambda row: row["user"]),
        TableColumn("BROWSER", lambda row: row["browser"] or "-"),
        TableColumn("SINCE", lambda row: moment(row["made_at"], now)),
        TableColumn(
            "LAST USED", lambda row: "-" if row["used_at"] is None else f"{span(now - row['used_at'])} ago", right=True
        ),
        TableColumn("EXPIRES IN", lambda row: span(row["expires_at"] - now), right=True),
    ]
    return Stack(Text(f"{count(len(rows), 'session')} of browsers"), table(columns, rows, wide))
