"""Measured pairs of nodes."""

import sqlalchemy as sa
from alembic import op

revision = "network_0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "pairs",
        sa.Column("one", sa.String, primary_key=True),
        sa.Column("other", sa.String, primary_key=True),
        sa.Column("rtt_us", sa.Float),
        sa.Column("loss", sa.Float, nullable=False),
        sa.Column("mbps", sa.Float),
        sa.Column("measured_at", sa.Float, nullable=False),
    )
