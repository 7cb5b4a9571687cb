"""Scheduling: from the pending queue to a placement.

Here belong the scheduling cycle, waking parked work, and committing placements. How a gang is laid out belongs to
`gangs`, who gives way to whom to `preemption`.
"""
