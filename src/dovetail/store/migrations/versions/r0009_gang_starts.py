"""The tasks that a bound task starts with, so that a restart sends it with them again."""

from alembic import op
from sqlalchemy import Column, Text

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.add_column("outbox", Column("gang", Text(), nullable=True))
