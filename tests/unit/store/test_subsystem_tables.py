"""Tables of subsystems: each subsystem opens its own, on a thread of its own, at the same time as the others."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sqlalchemy import text

from dovetail.store.subsystem_tables import SubsystemTables

REVISION = """
from alembic import op
import sqlalchemy as sa

revision, down_revision = "0001", None


def upgrade() -> None:
    op.create_table("{name}", sa.Column("id", sa.Integer, primary_key=True))
"""


def test_many_are_made_at_once_and_each_has_its_own_tables(tmp_path: Path) -> None:
    """Alembic upgrades one database at a time: its state is global."""
    made = []
    for number in range(12):
        revisions = tmp_path / f"revisions-{number}"
        revisions.mkdir()
        (revisions / "first.py").write_text(REVISION.format(name=f"own_{number}"))
        made.append(SubsystemTables(f"s{number}", tmp_path / str(number) / "tables.db", revisions))
    with ThreadPoolExecutor(len(made)) as threads:
        list(threads.map(SubsystemTables.open, made))
    for number, tables in enumerate(made):
        with tables.reading() as connection:
            assert connection.execute(text(f"SELECT count(*) FROM own_{number}")).scalar() == 0
        tables.close()
