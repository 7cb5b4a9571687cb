"""The ledger of costs, and budgets."""

import sqlalchemy as sa
from alembic import op

revision = "cost_0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "work_costs",
        sa.Column("day", sa.String, primary_key=True),
        sa.Column("currency", sa.String, primary_key=True),
        sa.Column("workload", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("namespace", sa.String, primary_key=True),
        sa.Column("user", sa.String, primary_key=True),
        sa.Column("queue", sa.String, primary_key=True),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("nanos", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "node_costs",
        sa.Column("day", sa.String, primary_key=True),
        sa.Column("currency", sa.String, primary_key=True),
        sa.Column("node", sa.String, primary_key=True),
        sa.Column("backend", sa.String, primary_key=True),
        sa.Column("used", sa.BigInteger, nullable=False),
        sa.Column("total", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "settled",
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("at", sa.Double, nullable=False),
    )
    op.create_table(
        "budgets",
        sa.Column("namespace", sa.String, primary_key=True),
        sa.Column("currency", sa.String, nullable=False),
        sa.Column("nanos", sa.BigInteger, nullable=False),
        sa.Column("on_limit", sa.String, nullable=False),
        sa.Column("set_at", sa.Double, nullable=False),
        sa.Column("author", sa.String, nullable=False),
    )
    op.create_table(
        "warnings",
        sa.Column("namespace", sa.String, primary_key=True),
        sa.Column("month", sa.String, primary_key=True),
        sa.Column("percent", sa.Integer, primary_key=True, autoincrement=False),
    )
