"""Remembering: SQLite (embedded default) behind one contract, with migrations. Knows only `model`."""
