"""Measured pairs over time."""

import sqlalchemy as sa
from alembic import op

revision = "network_0002"
down_revision = "network_0001"


def upgrade() -> None:
    op.create_table(
        "keys",
        sa.Column("slot", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("name", sa.String, nullable=False, unique=True),
        sa.Column("seen_at", sa.Float, nullable=False),
    )
    op.create_table(
        "key_buckets",
        sa.Column("step_s", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("start", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
    )
