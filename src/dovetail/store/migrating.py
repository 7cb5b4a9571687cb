"""Upgrades a database to the current schema, with Alembic and without a configuration file.

Guarantees: a database of a newer version or of another program is refused unchanged; the whole upgrade runs in the
caller's transaction, so a failed one changes nothing; the logging configuration is not touched.
"""

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Text, column, inspect, select, table

from dovetail.store.contract import StoreError

if TYPE_CHECKING:
    from alembic.config import Config

MIGRATIONS = Path(__file__).parent / "migrations"
#: Alembic keeps what it upgrades in a module of its own: two threads would each get a half of the other's.
_UPGRADING = threading.Lock()


@dataclass(frozen=True, slots=True)
class Migrations:
    """The folder of revisions, the table that says which is current, and a table that no other program has. Where the
    newest revision is known, a current database opens without Alembic, which takes half a second to load."""

    revisions: Path
    version_table: str
    own_table: str = ""
    newest: str = ""


NEWEST_REVISION = "0012"
STORE_MIGRATIONS = Migrations(MIGRATIONS / "versions", "alembic_version", "workloads", NEWEST_REVISION)


def _config(migrations: Migrations) -> "Config":
    from alembic.config import Config

    config = Config()
    config.set_main_option("path_separator", "os")
    # The value goes through %-interpolation, and a folder may well be called "100%".
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("version_locations", str(migrations.revisions).replace("%", "%%"))
    config.attributes["version_table"] = migrations.version_table
    return config


def check_revision(connection: Connection, where: str, migrations: Migrations = STORE_MIGRATIONS) -> bool:
    """Whether the schema is current. Raises StoreError for a database that must not be upgraded; changes nothing."""
    tables = set(inspect(connection).get_table_names())
    if not tables:
        return False
    if not {migrations.version_table, migrations.own_table or migrations.version_table} <= tables:
        raise StoreError(
            f"{where} holds tables of another program ({', '.join(sorted(tables)[:3])}) and was left untouched. "
            "Give Dovetail a database of its own."
        )
    if migrations.newest:
        versions = select(column("version_num", Text)).select_from(table(migrations.version_table))
        if connection.scalars(versions).all() == [migrations.newest]:
            return True
    return _is_newest(connection, where, migrations)


def _is_newest(connection: Connection, where: str, migrations: Migrations) -> bool:
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory
    from alembic.util import CommandError

    scripts = ScriptDirectory.from_config(_config(migrations))
    newest = set(scripts.get_heads())
    options = {"version_table": migrations.version_table}
    current = set(MigrationContext.configure(connection, opts=options).get_current_heads())
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


def upgrade(connection: Connection, migrations: Migrations = STORE_MIGRATIONS) -> None:
    """Upgrade to the newest revision, within the connection's transaction."""
    from alembic import command

    config = _config(migrations)
    config.attributes["connection"] = connection
    with _UPGRADING:
        command.upgrade(config, "head")
