"""The first tables."""

from typing import Any

from alembic import op
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Text,
    UniqueConstraint,
    text,
)

revision = "0001"
down_revision = None

ID = BigInteger().with_variant(Integer, "sqlite")


def _where(condition: str) -> dict[str, Any]:
    """A partial index, in the words of both databases."""
    return {"sqlite_where": text(condition), "postgresql_where": text(condition)}


def upgrade() -> None:
    op.create_table(
        "counters",
        Column("name", Text(), nullable=False),
        Column("value", ID, nullable=False),
        PrimaryKeyConstraint("name", name="pk_counters"),
    )
    op.create_table(
        "cursors",
        Column("profile", Text(), nullable=False),
        Column("row", Integer(), nullable=False),
        PrimaryKeyConstraint("profile", name="pk_cursors"),
    )
    op.create_table(
        "history",
        Column("seq", ID, nullable=False),
        Column("at", Double(), nullable=False),
        Column("kind", Text(), nullable=False),
        Column("message", Text(), nullable=False),
        Column("workload", ID, nullable=True),
        Column("replica", Integer(), nullable=True),
        Column("node", Text(), nullable=True),
        PrimaryKeyConstraint("seq", name="pk_history"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_history_node_seq", "history", ["node", "seq"], **_where("node IS NOT NULL"))
    op.create_index("ix_history_workload_seq", "history", ["workload", "seq"], **_where("workload IS NOT NULL"))
    op.create_table(
        "idempotency",
        Column("key", Text(), nullable=False),
        Column("response", Text(), nullable=False),
        Column("at", Double(), nullable=False),
        PrimaryKeyConstraint("key", name="pk_idempotency"),
    )
    op.create_table(
        "node_outcomes",
        Column("node", Text(), nullable=False),
        Column("succeeded", ID, nullable=False),
        Column("failed", ID, nullable=False),
        PrimaryKeyConstraint("node", name="pk_node_outcomes"),
    )
    op.create_table(
        "nodes",
        Column("name", Text(), nullable=False),
        Column("row", Integer(), nullable=False),
        Column("definition", Text(), nullable=False),
        Column("online", Boolean(), nullable=False),
        Column("cordoned", Boolean(), nullable=False),
        Column("drained", Boolean(), nullable=False),
        Column("reason", Text(), nullable=False),
        PrimaryKeyConstraint("name", name="pk_nodes"),
    )
    op.create_table(
        "outbox",
        Column("id", ID, nullable=False),
        Column("kind", Text(), nullable=False),
        Column("key", Text(), nullable=False),
        Column("workload", ID, nullable=False),
        Column("replica", Integer(), nullable=False),
        Column("node", Text(), nullable=False),
        Column("backend", Text(), nullable=False),
        Column("reason", Text(), nullable=False),
        PrimaryKeyConstraint("id", name="pk_outbox"),
        UniqueConstraint("kind", "key", name="uq_outbox_kind_key"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "reservations",
        Column("id", ID, autoincrement=False, nullable=False),
        Column("node", Text(), nullable=False),
        Column("amounts", Text(), nullable=False),
        Column("until", Double(), nullable=False),
        Column("holder", Text(), nullable=False),
        PrimaryKeyConstraint("id", name="pk_reservations"),
    )
    op.create_table(
        "shapes",
        Column("id", ID, nullable=False),
        Column("digest", LargeBinary(), nullable=False),
        Column("json", Text(), nullable=False),
        PrimaryKeyConstraint("id", name="pk_shapes"),
        UniqueConstraint("digest", name="uq_shapes_digest"),
    )
    op.create_table(
        "workloads",
        Column("id", ID, autoincrement=False, nullable=False),
        Column("namespace", Text(), nullable=False),
        Column("name", Text(), nullable=False),
        Column("kind", Text(), nullable=False),
        Column("priority", Text(), nullable=False),
        Column("user", Text(), nullable=True),
        Column("service", Text(), nullable=True),
        Column("replicas", Integer(), nullable=False),
        Column("spec_json", Text(), nullable=False),
        Column("shape", ID, nullable=False),
        Column("submitted_at", Double(), nullable=False),
        Column("state", Text(), nullable=False),
        Column("reason", Text(), nullable=False),
        Column("message", Text(), nullable=False),
        Column("pending", Integer(), nullable=False),
        Column("active", Integer(), nullable=False),
        Column("succeeded", Integer(), nullable=False),
        Column("failed", Integer(), nullable=False),
        Column("cancelled", Integer(), nullable=False),
        Column("started_at", Double(), nullable=True),
        Column("finished_at", Double(), nullable=True),
        ForeignKeyConstraint(["shape"], ["shapes.id"], name="fk_workloads_shape"),
        PrimaryKeyConstraint("id", name="pk_workloads"),
    )
    op.create_index("ix_workloads_finished_at", "workloads", ["finished_at"], **_where("finished_at IS NOT NULL"))
    op.create_index("ix_workloads_namespace_id", "workloads", ["namespace", "id"])
    op.create_index("ix_workloads_namespace_name_id", "workloads", ["namespace", "name", "id"])
    op.create_index("ix_workloads_service_id", "workloads", ["service", "id"], **_where("service IS NOT NULL"))
    op.create_index("ix_workloads_shape", "workloads", ["shape"])
    op.create_index("ix_workloads_state_id", "workloads", ["state", "id"])
    op.create_index("ix_workloads_user_id", "workloads", ["user", "id"], **_where('"user" IS NOT NULL'))
    op.create_table(
        "decisions",
        Column("workload", ID, autoincrement=False, nullable=False),
        Column("replica", Integer(), autoincrement=False, nullable=False),
        Column("attempt", Integer(), autoincrement=False, nullable=False),
        Column("at", Double(), nullable=False),
        Column("node", Text(), nullable=True),
        Column("outcome", Text(), nullable=False),
        Column("explanation", LargeBinary(), nullable=False),
        ForeignKeyConstraint(["workload"], ["workloads.id"], name="fk_decisions_workload"),
        PrimaryKeyConstraint("workload", "replica", "attempt", name="pk_decisions"),
    )
    op.create_index("ix_decisions_workload_at", "decisions", ["workload", "at"])
    op.create_table(
        "tasks",
        Column("workload", ID, autoincrement=False, nullable=False),
        Column("replica", Integer(), autoincrement=False, nullable=False),
        Column("state", Text(), nullable=False),
        Column("attempt", Integer(), nullable=False),
        Column("node", Text(), nullable=True),
        Column("backend", Text(), nullable=True),
        Column("reason", Text(), nullable=False),
        Column("message", Text(), nullable=False),
        Column("exit_code", Integer(), nullable=True),
        Column("placed_at", Double(), nullable=True),
        Column("started_at", Double(), nullable=True),
        Column("finished_at", Double(), nullable=True),
        Column("failures", Integer(), nullable=False),
        Column("bind_failures", Integer(), nullable=False),
        ForeignKeyConstraint(["workload"], ["workloads.id"], name="fk_tasks_workload"),
        PrimaryKeyConstraint("workload", "replica", name="pk_tasks"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_tasks_node", "tasks", ["node"], **_where("state IN ('bound', 'placed', 'running', 'stopping')"))
