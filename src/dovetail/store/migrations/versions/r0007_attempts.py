"""Attempts that ended while their task went on; the queue of each workload."""

from alembic import op
from sqlalchemy import BigInteger, Column, Double, ForeignKeyConstraint, Integer, PrimaryKeyConstraint, Text, text

revision = "0007"
down_revision = "0006"

_ID = BigInteger().with_variant(Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "attempts",
        Column("workload", _ID, nullable=False, autoincrement=False),
        Column("replica", Integer(), nullable=False, autoincrement=False),
        Column("attempt", Integer(), nullable=False, autoincrement=False),
        Column("ended_at", Double(), nullable=False),
        Column("node", Text(), nullable=False),
        Column("backend", Text(), nullable=False),
        Column("placed_at", Double(), nullable=False),
        Column("started_at", Double(), nullable=True),
        Column("reason", Text(), nullable=False),
        Column("message", Text(), nullable=False),
        Column("exit_code", Integer(), nullable=True),
        ForeignKeyConstraint(["workload"], ["workloads.id"], name="fk_attempts_workload"),
        PrimaryKeyConstraint("workload", "replica", "attempt", "ended_at", name="pk_attempts"),
        sqlite_with_rowid=False,
    )
    op.add_column("workloads", Column("queue", Text(), nullable=True))
    known = text("queue IS NOT NULL")
    op.create_index("ix_workloads_queue_id", "workloads", ["queue", "id"], sqlite_where=known, postgresql_where=known)
