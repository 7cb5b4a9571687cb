"""Plugins for Dovetail, one a file: score, filter, strategy and hook. The entry points are in pyproject.toml."""
