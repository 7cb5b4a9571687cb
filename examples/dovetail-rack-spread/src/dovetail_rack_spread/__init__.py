"""Plugins for Dovetail, one a file: a score, a filter and a hook. The entry points are in pyproject.toml."""
