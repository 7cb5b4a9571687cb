"""Reservations: capacity held because a user asked for it, now or in a window of time.

Here belong finding the capacity, opening and closing windows, and explaining shortfalls. Promises to waiting work
belong to `backfill`.
"""
