"""The target of a command that moves a task live, so that a restart sends it as a move again."""

from alembic import op
from sqlalchemy import Column, Text

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("outbox", Column("migrate_to", Text(), nullable=True))
