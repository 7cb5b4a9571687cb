"""Reservations in advance; notes of workloads; what the scheduler learned.

A reservation of the first form (amounts on one node, held until a moment, by a holder) becomes one of the new form
whose only window began at an unknown moment, written as 0, and is going on.
"""

import json
from collections.abc import Iterable
from typing import Any

from alembic import op
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKeyConstraint,
    Integer,
    PrimaryKeyConstraint,
    Text,
    column,
    select,
    table,
)

revision = "0002"
down_revision = "0001"

ID = BigInteger().with_variant(Integer, "sqlite")
FIRST_FORM = table("reservations", *map(column, ("id", "node", "amounts", "until", "holder")))


def upgrade() -> None:
    earlier = op.get_bind().execute(select(FIRST_FORM).order_by(FIRST_FORM.c.id)).mappings().all()
    op.drop_table("reservations")
    made = op.create_table(
        "reservations",
        Column("id", ID, autoincrement=False, nullable=False),
        Column("target", Text(), nullable=False),
        Column("holds", Text(), nullable=False),
        Column("start", Double(), nullable=False),
        Column("end", Double(), nullable=False),
        Column("begun", Boolean(), nullable=False),
        Column("every_s", Double(), nullable=True),
        Column("last", Double(), nullable=True),
        Column("tenant", Text(), nullable=True),
        Column("holder", Text(), nullable=False),
        Column("trouble", Text(), nullable=False),
        PrimaryKeyConstraint("id", name="pk_reservations"),
    )
    op.bulk_insert(made, _in_the_new_form(earlier))
    op.create_table(
        "workload_notes",
        Column("workload", ID, autoincrement=False, nullable=False),
        Column("json", Text(), nullable=False),
        ForeignKeyConstraint(["workload"], ["workloads.id"], name="fk_workload_notes_workload"),
        PrimaryKeyConstraint("workload", name="pk_workload_notes"),
    )
    op.create_table(
        "memory",
        Column("name", Text(), nullable=False),
        Column("json", Text(), nullable=False),
        PrimaryKeyConstraint("name", name="pk_memory"),
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
