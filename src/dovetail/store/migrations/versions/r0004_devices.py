"""Which GPUs of its node a task has: on the task, and on the command that starts it."""

from alembic import op
from sqlalchemy import Column, Text

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("tasks", Column("devices", Text(), nullable=True))
    op.add_column("outbox", Column("devices", Text(), nullable=True))
