"""Applications: waiting workloads that exchange traffic, whose nodes are chosen together.

Here belong finding them, their problem as arrays, and the nominations that follow. The search over arrays is in
`dovetail.placement.applications`; committing stays with `engine.scheduling`, one workload at its turn.
"""
