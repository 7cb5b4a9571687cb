"""Requests: what one task asks of a node and of other work, in a form that is cheap to compare and to hash.

Here belong affinity rules, the shape and the terms. What users write is in `model.workloads`.
"""
