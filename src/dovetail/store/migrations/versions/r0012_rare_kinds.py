"""Lines of the history that are rare are found without reading all others."""

from alembic import op
from sqlalchemy import text

revision = "0012"
down_revision = "0011"

_RARE = "kind IN ('backend', 'budget', 'failed', 'lost', 'node', 'note', 'policy', 'preempted', 'recovery', 'stopping')"


def upgrade() -> None:
    op.create_index(
        "ix_history_kind_seq", "history", ["kind", "seq"], sqlite_where=text(_RARE), postgresql_where=text(_RARE)
    )
