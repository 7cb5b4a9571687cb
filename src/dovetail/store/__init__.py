"""The store: durable state behind one contract (`contract.Store`), in SQLite, with Alembic migrations.

Here belong the schema, its migrations, reading and writing, and databases of subsystems. What is written when is
decided by the control loop. Imports only `model`.
"""
