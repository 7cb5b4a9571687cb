"""Views: what a plugin sees of the cluster, as columns over some nodes.

A view reads; only `Cluster` changes tables.
"""
