"""Workloads as users define them: the one definition behind YAML, REST, the Python client and the CLI.

What placement makes of a definition is in `model.requests`.
"""
