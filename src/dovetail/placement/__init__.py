"""Deciding where a task runs: filters, scores, profiles, and the pipeline that runs them over all nodes at once.

Guarantees: deterministic, no I/O. A plugin sees a request and a view of columns, nothing else.
"""
