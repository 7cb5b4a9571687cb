"""Bringing a database to the schema of this version, with Alembic and without any configuration file.

Guarantees: a database from a newer version, or of another program, is refused before anything in it changes; the
caller's transaction holds the whole upgrade, so a failed one leaves the database as it was; logging stays as it is.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect

from dovetail.store.contract import StoreError

if TYPE_CHECKING:
    from alembic.config import Config

MIGRATIONS = Path(__file__).parent / "migrations"


def _config() -> "Config":
    from alembic.config import Config

    config = Config()
    config.set_main_option("path_separator", "os")
    # The value goes through %-interpolation, and a folder may well be called "100%".
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config


def check_revision(connection: Connection, where: str) -> bool:
    """Whether the database is at the newest schema. Raises StoreError if it is not ours to upgrade; changes nothing."""
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory
    from alembic.util import CommandError

    tables = set(inspect(connection).get_table_names())
    if not tables:
        return False
    if not {"alembic_version", "workloads"} <= tables:
        raise StoreError(
            f"{where} holds tables of another program ({', '.join(sorted(tables)[:3])}) and was left untouched. "
            "Give Dovetail a database of its own."
        )
    scripts = ScriptDirectory.from_config(_config())
    newest = set(scripts.get_heads())
    current = set(MigrationContext.configure(connection).get_current_heads())
    for revision in current:
        try:
            scripts.get_revision(revision)
        except CommandError:
            raise StoreError(
                f"{where} was written by a newer version of Dovetail (schema revision {revision!r}; this version "
                f"knows up to {', '.join(sorted(newest))}) and was left untouched. Start that version or a later one, "
                "or give this one another database."
            ) from None
    return current == newest


def upgrade(connection: Connection) -> None:
    """To the newest schema, within the transaction that the connection is in."""
    from alembic import command

    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
