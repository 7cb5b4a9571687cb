"""Promises: capacity held for a start in the future.

Here belong the tables of promises, of reserved windows and of expected task ends. Who is promised what is decided
in `backfill`, `preemption` and `reservations`. Nothing here imports the `EngineState`.
"""
