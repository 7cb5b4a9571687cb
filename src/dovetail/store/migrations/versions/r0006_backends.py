"""Backends that were added while the server ran, secrets in their settings sealed; lines of history about them; what
each backend said of its nodes."""

from alembic import op
from sqlalchemy import Column, Double, PrimaryKeyConstraint, Text, text

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "backends",
        Column("name", Text(), nullable=False),
        Column("kind", Text(), nullable=False),
        Column("settings", Text(), nullable=False),
        Column("added_at", Double(), nullable=False),
        PrimaryKeyConstraint("name", name="pk_backends"),
    )
    op.create_table(
        "node_announcements",
        Column("node", Text(), nullable=False),
        Column("said", Text(), nullable=False),
        PrimaryKeyConstraint("node", name="pk_node_announcements"),
    )
    op.add_column("history", Column("backend", Text(), nullable=True))
    told = text("backend IS NOT NULL")
    op.create_index("ix_history_backend_seq", "history", ["backend", "seq"], sqlite_where=told, postgresql_where=told)
