"""Trials: where the tasks of one workload, gang or group would go together, tried on the cluster and rolled back.

Here belong layouts, bandwidth and headroom of tasks that start together. Committing a placement belongs to
`scheduling`.
"""
