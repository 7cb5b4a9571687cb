"""Where Alembic starts: over the connection that `migrating` hands in, inside its transaction."""

from alembic import context

from dovetail.store.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,  # SQLite cannot alter most things in place
)
with context.begin_transaction():
    context.run_migrations()
