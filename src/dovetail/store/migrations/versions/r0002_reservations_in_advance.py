"""Reservations in advance; notes of workloads; what the scheduler learned.

A reservation of the first form (amounts on one node, held until a moment, by a holder) becomes one of the new form
whose only window began at an unknown moment, written as 0, and is going on.
"""

import json
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")
FIRST_FORM = sa.table("reservations", *map(sa.column, ("id", "node", "amounts", "until", "holder")))


def upgrade() -> None:
    earlier = op.get_bind().execute(sa.select(FIRST_FORM).order_by(FIRST_FORM.c.id)).mappings().all()
    op.drop_table("reservations")
    made = op.create_table(
        "reservations",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("holds", sa.Text(), nullable=False),
        sa.Column("start", sa.Double(), nullable=False),
        sa.Column("end", sa.Double(), nullable=False),
        sa.Column("begun", sa.Boolean(), nullable=False),
        sa.Column("every_s", sa.Double(), nullable=True),
        sa.Column("last", sa.Double(), nullable=True),
        sa.Column("tenant", sa.Text(), nullable=True),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("trouble", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_reservations"),
    )
    op.bulk_insert(made, _in_the_new_form(earlier))
    op.create_table(
        "workload_notes",
        sa.Column("workload", ID, autoincrement=False, nullable=False),
        sa.Column("json", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["workload"], ["workloads.id"], name="fk_workload_notes_workload"),
        sa.PrimaryKeyConstraint("workload", name="pk_workload_notes"),
    )
    op.create_table(
        "memory",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("json", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_memory"),
    )


def _in_the_new_form(earlier: Iterable[Any]) -> list[dict[str, Any]]:
    return [
        {
            "id": row["id"],
            "target": json.dumps({"nodes": [row["node"]], "amounts": json.loads(row["amounts"])}),
            "holds": json.dumps({row["node"]: json.loads(row["amounts"])}),
            "start": 0.0,
            "end": row["until"],
            "begun": True,
            "every_s": None,
            "last": None,
            "tenant": None,
            "holder": row["holder"],
            "trouble": "",
        }
        for row in earlier
    ]
