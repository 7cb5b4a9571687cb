"""The first tables."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def _where(condition: str) -> dict[str, Any]:
    """A partial index, in the words of both databases."""
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}


def upgrade() -> None:
    op.create_table(
        "counters",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", ID, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_counters"),
    )
    op.create_table(
        "cursors",
        sa.Column("profile", sa.Text(), nullable=False),
        sa.Column("row", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("profile", name="pk_cursors"),
    )
    op.create_table(
        "history",
        sa.Column("seq", ID, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("workload", ID, nullable=True),
        sa.Column("replica", sa.Integer(), nullable=True),
        sa.Column("node", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("seq", name="pk_history"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_history_node_seq", "history", ["node", "seq"], **_where("node IS NOT NULL"))
    op.create_index("ix_history_workload_seq", "history", ["workload", "seq"], **_where("workload IS NOT NULL"))
    op.create_table(
        "idempotency",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("response", sa.Text(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_idempotency"),
    )
    op.create_table(
        "node_outcomes",
        sa.Column("node", sa.Text(), nullable=False),
        sa.Column("succeeded", ID, nullable=False),
        sa.Column("failed", ID, nullable=False),
        sa.PrimaryKeyConstraint("node", name="pk_node_outcomes"),
    )
    op.create_table(
        "nodes",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("row", sa.Integer(), nullable=False),
        sa.Column("definition", sa.Text(), nullable=False),
        sa.Column("online", sa.Boolean(), nullable=False),
        sa.Column("cordoned", sa.Boolean(), nullable=False),
        sa.Column("drained", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_nodes"),
    )
    op.create_table(
        "outbox",
        sa.Column("id", ID, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("workload", ID, nullable=False),
        sa.Column("replica", sa.Integer(), nullable=False),
        sa.Column("node", sa.Text(), nullable=False),
        sa.Column("backend", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_outbox"),
        sa.UniqueConstraint("kind", "key", name="uq_outbox_kind_key"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "reservations",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("node", sa.Text(), nullable=False),
        sa.Column("amounts", sa.Text(), nullable=False),
        sa.Column("until", sa.Double(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_reservations"),
    )
    op.create_table(
        "shapes",
        sa.Column("id", ID, nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("json", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_shapes"),
        sa.UniqueConstraint("digest", name="uq_shapes_digest"),
    )
    op.create_table(
        "workloads",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("namespace", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("priority", sa.Text(), nullable=False),
        sa.Column("user", sa.Text(), nullable=True),
        sa.Column("service", sa.Text(), nullable=True),
        sa.Column("replicas", sa.Integer(), nullable=False),
        sa.Column("spec_json", sa.Text(), nullable=False),
        sa.Column("shape", ID, nullable=False),
        sa.Column("submitted_at", sa.Double(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("pending", sa.Integer(), nullable=False),
        sa.Column("active", sa.Integer(), nullable=False),
        sa.Column("succeeded", sa.Integer(), nullable=False),
        sa.Column("failed", sa.Integer(), nullable=False),
        sa.Column("cancelled", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=True),
        sa.Column("finished_at", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["shape"], ["shapes.id"], name="fk_workloads_shape"),
        sa.PrimaryKeyConstraint("id", name="pk_workloads"),
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
        sa.Column("workload", ID, autoincrement=False, nullable=False),
        sa.Column("replica", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("node", sa.Text(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("explanation", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["workload"], ["workloads.id"], name="fk_decisions_workload"),
        sa.PrimaryKeyConstraint("workload", "replica", "attempt", name="pk_decisions"),
    )
    op.create_index("ix_decisions_workload_at", "decisions", ["workload", "at"])
    op.create_table(
        "tasks",
        sa.Column("workload", ID, autoincrement=False, nullable=False),
        sa.Column("replica", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("node", sa.Text(), nullable=True),
        sa.Column("backend", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("exit_code", sa.Integer(), nullable=True),
        sa.Column("placed_at", sa.Double(), nullable=True),
        sa.Column("started_at", sa.Double(), nullable=True),
        sa.Column("finished_at", sa.Double(), nullable=True),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("bind_failures", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["workload"], ["workloads.id"], name="fk_tasks_workload"),
        sa.PrimaryKeyConstraint("workload", "replica", name="pk_tasks"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_tasks_node", "tasks", ["node"], **_where("state IN ('bound', 'placed', 'running', 'stopping')"))
