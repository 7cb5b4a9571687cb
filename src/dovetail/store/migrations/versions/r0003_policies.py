"""Policies, every version of them."""

from alembic import op
from sqlalchemy import Column, Double, Integer, PrimaryKeyConstraint, Text

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "policies",
        Column("name", Text(), nullable=False),
        Column("version", Integer(), autoincrement=False, nullable=False),
        Column("at", Double(), nullable=False),
        Column("author", Text(), nullable=False),
        Column("note", Text(), nullable=False),
        Column("definition", Text(), nullable=True),
        PrimaryKeyConstraint("name", "version", name="pk_policies"),
    )
