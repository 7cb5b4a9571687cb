"""Traces that are not sent yet."""

import sqlalchemy as sa
from alembic import op

revision = "tracing_0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "open_traces",
        sa.Column("workload", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("trace", sa.String, nullable=False),
    )
    op.create_table(
        "progress",
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("value", sa.Integer, nullable=False),
    )
