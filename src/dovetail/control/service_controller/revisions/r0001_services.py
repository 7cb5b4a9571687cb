"""Services, and the revisions of their definitions."""

import sqlalchemy as sa
from alembic import op

revision = "services_0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "services",
        sa.Column("namespace", sa.String, primary_key=True),
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("target", sa.Integer, nullable=False),
        sa.Column("replicas", sa.Integer, nullable=False),
        sa.Column("stable", sa.Integer, nullable=False),
        sa.Column("active", sa.Integer, nullable=False),
        sa.Column("rollout", sa.String, nullable=False),
        sa.Column("best", sa.Integer, nullable=False),
        sa.Column("progress_at", sa.Float, nullable=False),
        sa.Column("message", sa.String, nullable=False),
        sa.Column("removed", sa.Boolean, nullable=False),
    )
    op.create_table(
        "revisions",
        sa.Column("namespace", sa.String, primary_key=True),
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("spec", sa.String, nullable=False),
        sa.Column("made_at", sa.Float, nullable=False),
        sa.Column("cause", sa.String, nullable=False),
    )
