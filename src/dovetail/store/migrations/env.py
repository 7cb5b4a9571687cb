"""Where Alembic starts: over the connection that `migrating` hands in, inside its transaction."""

from alembic import context

from dovetail.store.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=context.config.attributes.get("version_table", "alembic_version"),
    render_as_batch=True,  # SQLite cannot alter most things in place
)
with context.begin_transaction():
    context.run_migrations()
