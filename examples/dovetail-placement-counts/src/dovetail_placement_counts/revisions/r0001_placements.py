"""The table of placements."""

import sqlalchemy as sa
from alembic import op

revision = "placement_counts_0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "placements",
        sa.Column("node", sa.String, primary_key=True),
        sa.Column("tasks", sa.Integer, nullable=False),
    )
