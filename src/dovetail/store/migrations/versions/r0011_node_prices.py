"""What nodes cost from when on, for accounting."""

from alembic import op
from sqlalchemy import BigInteger, Boolean, Column, Double, Integer, PrimaryKeyConstraint, Text

revision = "0011"
down_revision = "0010"

_Large = BigInteger().with_variant(Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "node_prices",
        Column("node", Text(), nullable=False),
        Column("at", Double(), nullable=False),
        Column("backend", Text(), nullable=False),
        Column("currency", Text(), nullable=False),
        Column("price_nanos", _Large, nullable=False),
        Column("running", Boolean(), nullable=False),
        Column("cpu", _Large, nullable=False),
        Column("memory", _Large, nullable=False),
        Column("gpu", _Large, nullable=False),
        PrimaryKeyConstraint("node", "at", name="pk_node_prices"),
    )
