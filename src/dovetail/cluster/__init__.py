"""The state of the world as arrays: one resource over all nodes is one contiguous row.

Guarantees: no I/O, no clock. One module writes each table; `state.Cluster` is the only door for changes, and every
change is logged by column group so that cached results know which rows to recompute.
"""
