"""How quickly tasks ran on a node, beside how they ended: the sum and the weight of a mean."""

from alembic import op
from sqlalchemy import Column, Double

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    for name in ("pace_sum", "pace_weight"):
        op.add_column("node_outcomes", Column(name, Double(), nullable=False, server_default="0"))
