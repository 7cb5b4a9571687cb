"""Scheduling: from the pending queue to a placement.

Here belong the scheduling cycle, waking parked work, and committing placements. How a gang is laid out belongs to
`gangs`, which tasks are preempted to `preemption`.
"""
