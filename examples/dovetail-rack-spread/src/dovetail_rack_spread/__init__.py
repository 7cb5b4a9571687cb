"""Plugins for Dovetail, one a file: a score, a filter, a strategy and a hook. The entry points are in pyproject.toml."""
