"""Backends that were added while the server ran; secrets in their settings are sealed."""

from alembic import op
from sqlalchemy import Column, Double, PrimaryKeyConstraint, Text

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
