"""Samples over time, in buckets of several widths."""

import sqlalchemy as sa
from alembic import op

revision = "trends_0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "buckets",
        sa.Column("step_s", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("start", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("content", sa.Text, nullable=False),
    )
