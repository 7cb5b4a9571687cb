"""Tokens of nodes and for joining, as digests."""

from alembic import op
from sqlalchemy import Column, Double, Integer, PrimaryKeyConstraint, Text, UniqueConstraint

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.create_table(
        "tokens",
        Column("id", Integer(), autoincrement=False, nullable=False),
        Column("kind", Text(), nullable=False),
        Column("digest", Text(), nullable=False),
        Column("made_at", Double(), nullable=False),
        Column("node", Text(), nullable=True),
        Column("expires_at", Double(), nullable=True),
        Column("uses_left", Integer(), nullable=True),
        PrimaryKeyConstraint("id", name="pk_tokens"),
        UniqueConstraint("digest", name="uq_tokens_digest"),
    )
