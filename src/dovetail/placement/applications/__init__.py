"""Whole applications: where all tasks of workloads that exchange data go, decided together.

Here belong the problem as arrays, the search and the moves that improve what runs. Which workloads form an application,
and committing what was found, is up to `dovetail.engine.applications`.
"""
