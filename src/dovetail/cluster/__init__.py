"""The state of the cluster as arrays: one resource over all nodes is one contiguous row.

Guarantees: no I/O, no clock. One module writes each table, and only `state.Cluster` changes them. Every change is
logged by column group, so caches know which rows to recompute. Trials undo themselves without a trace.
"""
